"""Push mirrors: remotes to which a repository is pushed."""

import asyncio

import pytest

from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, wanting
from ..world import commit, git

P = "/repos/ann/app/push_mirrors"


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"], "remote_idle_seconds": 5.0}


@pytest.fixture
async def remote(tmp_path):
    """A server with the bare repository target.git, into which anybody may push."""
    async with Remote(tmp_path / "remote") as remote:
        await git("init", "-q", "--bare", "-b", "master", "target.git", cwd=remote.folder)
        await git("config", "http.receivepack", "true", cwd=remote.folder / "target.git")
        yield remote


async def there(remote):
    """The refs of the remote, by name."""
    text = await git("for-each-ref", "--format=%(refname) %(objectname)", cwd=remote.folder / "target.git")
    return dict(line.split(" ") for line in text.splitlines())


async def step(world):
    return await world.components.mirror_workers.step()


async def shown(person):
    (mirror,) = (await person.get(P)).json()
    return mirror


async def test_branches_and_tags_are_pushed_and_pruned(world, ann, base, remote, git_url, tmp_path):
    await git("push", "-q", str(remote.folder / "target.git"), "topic:refs/heads/gone", cwd=tmp_path / "work")
    remote.answer = wanting("ann", "hunter2")
    body = {
        "remote_address": f"http://u:p@127.0.0.1:{remote.port}/target.git",
        "remote_username": "ann",
        "remote_password": "hunter2",
        "interval": "8h0m0s",
        "sync_on_commit": True,
    }
    answer = await ann.post(P, body)
    assert answer.status_code == 200, answer.text
    first = answer.json()
    assert (first["repo_name"], first["remote_address"]) == ("app", remote.url("target.git"))
    assert (first["interval"], first["sync_on_commit"], first["last_update"]) == ("8h0m0s", True, None)
    assert await step(world) == 1
    tips = await there(remote)
    branches = (await ann.get("/repos/ann/app/branches")).json()
    assert tips == {f"refs/heads/{branch['name']}": branch["commit"]["id"] for branch in branches}
    mirror = await shown(ann)
    assert (mirror["last_error"], bool(mirror["last_update"])) == ("", True)
    (row,) = await world.rows("push_mirror")
    assert b"hunter2" not in row.sealed
    assert "hunter2" not in row.url + answer.text

    assert await step(world) == 0
    tip = await commit(tmp_path / "work", "more.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "HEAD:topic", cwd=tmp_path / "work", person=ann)
    assert await step(world) == 1
    assert (await there(remote))["refs/heads/topic"] == tip

    assert (await ann.get(f"{P}/{mirror['remote_name']}")).json() == await shown(ann)
    assert (await ann.call("DELETE", f"/api/v1{P}/{mirror['remote_name']}")).status_code == 204
    assert (await ann.call("DELETE", f"/api/v1{P}/{mirror['remote_name']}")).status_code == 404
    assert (await ann.get(f"{P}/{mirror['remote_name']}")).status_code == 404
    assert (await ann.get(P)).json() == []
    await ann.post("/repos/ann/app/push_mirrors-sync")
    assert await step(world) == 0


async def test_a_failure_is_told_in_words_and_tried_again(world, ann, base, remote):
    remote.answer = wanting("ann", "right")
    await ann.post(
        P, {"remote_address": remote.url("target.git"), "remote_password": "wrong", "interval": "0"}
    )
    await step(world)
    assert (await shown(ann))["last_error"] == REASON_TEXTS["unauthorized"]
    remote.answer = None
    assert (await ann.post("/repos/ann/app/push_mirrors-sync")).status_code == 200
    await step(world)
    assert (await shown(ann))["last_error"] == ""
    assert "refs/heads/master" in await there(remote)


async def test_who_may_administer_no_more_pushes_no_more(world, ann, bob, base, remote):
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    answer = await bob.post(P, {"remote_address": remote.url("target.git"), "interval": "0"})
    assert answer.status_code == 200, answer.text
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    await step(world)
    assert (await shown(ann))["last_error"] == REASON_TEXTS["access"]
    assert await there(remote) == {}
    assert (await bob.get(P)).status_code == 403


async def test_a_push_that_runs_ends_with_the_right_of_who_added_it(world, ann, bob, base, remote):
    permission = "/api/v1/repos/ann/app/collaborators/bob"
    await ann.call("PUT", permission, {"permission": "admin"})
    assert (await bob.post(P, {"remote_address": remote.url("target.git"), "interval": "0"})).is_success

    async def answer(method, _target, _headers, _writer):
        if method == "POST":
            await ann.call("PUT", permission, {"permission": "write"})
            await asyncio.Event().wait()  # a remote that takes its time

    remote.answer = answer
    await step(world)
    assert (await shown(ann))["last_error"] == REASON_TEXTS["cancelled"]
    assert await there(remote) == {}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_cannot_be_pushed_to_is_named(ann, base):
    for fields, field in (
        ({}, "remote_address"),
        ({"remote_address": ""}, "remote_address"),
        ({"remote_address": "/etc"}, "remote_address"),
        ({"remote_address": "file:///etc"}, "remote_address"),
        ({"remote_address": "ext::sh -c id"}, "remote_address"),
        ({"remote_address": "--upload-pack=id"}, "remote_address"),
        ({"remote_address": "ssh://git@example.org/x.git"}, "remote_address"),
        ({"remote_address": "http://10.0.0.1/x.git"}, "remote_address"),
        ({"remote_address": "http://169.254.169.254/x.git"}, "remote_address"),
        ({"remote_address": "https://127.0.0.1/x.git", "interval": "soon"}, "interval"),
        ({"remote_address": "https://127.0.0.1/x.git", "interval": "1s"}, "interval"),
        ({"remote_address": "https://127.0.0.1/x.git", "remote_password": "a\nb"}, "remote_password"),
    ):
        answer = await ann.post(P, fields)
        assert answer.status_code == 422, (fields, answer.text)
        assert answer.json()["errors"][0]["field"] == field
        assert "import" not in answer.json()["message"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_there_are_not_too_many(world, ann, base):
    for number in range(20):
        body = {"remote_address": f"https://127.0.0.1/{number}.git"}
        assert (await ann.post(P, body)).status_code == 200
    assert (await ann.post(P, {"remote_address": "https://127.0.0.1/x.git"})).status_code == 403
    with world.count_statements() as statements:
        answer = await ann.get(f"{P}?limit=2")
    assert (answer.headers["x-total-count"], len(answer.json()), len(statements) <= 3) == ("20", 2, True)
