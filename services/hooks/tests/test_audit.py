"""The audit log of hooks: creation, changes and deletion of hooks with their actors, without secrets."""

import pytest

from ingot_chassis.db.audit import list_entries

from .builders import config, hook

URL = "https://chat.example.com/services/T000/secret-part"
SUBJECTS = {
    "/repos/ann/app/hooks": "repository ann/app",
    "/user/hooks": "user user1",
    "/admin/hooks": "server",
}


async def entries(world):
    """Oldest first."""
    async with world.db.read() as db:
        return (await list_entries(db, service="hooks", limit=100))[::-1]


@pytest.mark.parametrize("path", SUBJECTS)
async def test_each_change_is_noted_without_secrets(world, path):
    who = {"admin": path.startswith("/admin")}
    body = hook(config=config(URL, secret="s3cret"), authorization_header="Bearer t0ken")
    answer = await world.call("POST", path, body, **who)
    assert answer.status_code == 201, answer.text
    one = f"{path}/{answer.json()['id']}"
    changes = {"config": {"secret": "n3w"}, "active": False}
    assert (await world.call("PATCH", one, changes, **who)).status_code == 200
    assert (await world.call("DELETE", one, **who)).status_code == 204
    assert (await world.call("DELETE", one, **who)).status_code == 404
    noted = await entries(world)
    assert [entry.action for entry in noted] == ["hook.create", "hook.edit", "hook.delete"]
    assert {(entry.actor, entry.via, entry.subject) for entry in noted} == {
        ("user1", "token", SUBJECTS[path])
    }
    assert noted[1].details["fields"] == ["active", "secret"]
    assert noted[0].details["host"] == "chat.example.com"
    for secret in ("s3cret", "t0ken", "n3w", "secret-part"):
        assert secret not in str(noted)
