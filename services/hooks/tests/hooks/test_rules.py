"""Hooks of a user's own repositories, and of the server: for every repository, or copied into new ones."""

import json

import pytest

from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.events import OrganizationDeleted, UserDeleted, UserEdited
from ingot_contracts.repos.events import RepositoryCreated
from ingot_testing.service import count_statements

from ..builders import ACME, ANN, config, hook, push, repository
from ..world import HOOKS

pytestmark = pytest.mark.both_databases

ADMIN = {"user": 6, "admin": True}
OWN, SERVER = "/user/hooks", "/admin/hooks"
BOB = Account(id=2, kind="user", login="bob")


@pytest.fixture
async def administered(world):
    world.save_account(Account(id=6, kind="user", login="root", admin=True))
    return world


def system_hook(url: str, value: object = "true") -> dict[str, object]:
    return hook(config=config(url, is_system_webhook=value))


async def test_a_hook_of_an_account_gets_the_events_of_its_repositories_alone(world, receiver):
    created = await world.call("POST", OWN, hook(receiver.url))
    assert created.status_code == 201
    world.repos.add(repository(11, owner=ACME))
    for target in (repository(), repository(8, name="other", private=True), repository(11, owner=ACME)):
        await world.deliver(push(target=target))
    await world.worker.step()
    assert [row.repository_id for row in await world.rows("delivery")] == [7, 8]
    assert len(receiver.requests) == 2
    history = await world.call("GET", f"{OWN}/{created.json()['id']}/deliveries")
    assert [row["state"] for row in history.json()] == ["delivered"] * 2


async def test_each_account_has_hooks_of_its_own(world):
    own = (await world.call("POST", OWN, hook())).json()
    assert (await world.call("GET", OWN)).json() == [own]
    assert (await world.call("GET", OWN, user=2)).json() == []
    path = f"{OWN}/{own['id']}"
    assert (await world.call("GET", path)).json() == own
    for method, body in (("GET", None), ("PATCH", {"active": False}), ("DELETE", None)):
        for user, place in ((2, OWN), (1, HOOKS)):
            assert (await world.call(method, f"{place}/{own['id']}", body, user=user)).status_code == 404
    assert (await world.call("PATCH", path, {"active": False})).json()["active"] is False
    assert (await world.call("DELETE", path)).status_code == 204
    assert (await world.call("GET", path)).status_code == 404


@pytest.mark.parametrize(
    ("place", "who", "status"),
    [
        (OWN, {"user": 0}, 401),
        (OWN, {"user": 1, "restricted_to": [7]}, 403),
        (OWN, {"user": 1, "scopes": ["write:repository"]}, 403),
        (OWN, {"user": 1, "scopes": ["write:hook"]}, 200),
        (SERVER, {"user": 0}, 403),
        (SERVER, {"user": 1}, 403),
        (SERVER, {**ADMIN, "restricted_to": [7]}, 403),
        (SERVER, {**ADMIN, "scopes": ["write:hook"]}, 403),
        (SERVER, {**ADMIN, "scopes": ["write:admin"]}, 200),
    ],
)
@pytest.mark.parametrize("path", ["", "/1", "/1/deliveries"])
async def test_others_are_refused(administered, place, who, status, path):
    answer = await administered.call("GET", place + path, **who)
    assert answer.status_code == (404 if status == 200 and path else status)


async def test_a_hook_of_the_system_gets_the_events_of_every_repository(administered, receiver):
    created = await administered.call("POST", SERVER, system_hook(receiver.url), **ADMIN)
    assert created.status_code == 201, created.text
    acme = administered.repos.add(repository(11, owner=ACME, private=True))
    for target in (repository(), acme):
        await administered.deliver(push(target=target))
    await administered.worker.step()
    assert len(receiver.requests) == 2


async def test_a_hook_of_the_system_needs_an_administrator(administered, receiver):
    created = await administered.call("POST", SERVER, system_hook(receiver.url), **ADMIN)
    demoted = Account(id=6, kind="user", login="root")
    administered.save_account(demoted)
    await administered.deliver(UserEdited(account=demoted, previous_login="root"))
    await administered.deliver(push())
    await administered.worker.step()
    assert receiver.requests == []
    (shown,) = (await administered.call("GET", SERVER, user=1, admin=True)).json()
    assert (shown["id"], shown["active"]) == (created.json()["id"], False)
    assert "administrator" in shown["disabled_reason"]


async def test_a_default_hook_is_copied_into_new_repositories(administered, receiver):
    body = system_hook(receiver.url, "false") | {"events": ["push"], "branch_filter": "main"}
    body["config"]["secret"] = "s3cret"
    await administered.call("POST", SERVER, body, **ADMIN)
    await administered.deliver(push())
    new = administered.repos.add(repository(12, name="new"))
    await administered.deliver(RepositoryCreated(repository=new, sender=ANN))
    await administered.deliver(push(target=new))
    await administered.worker.step()
    (request,) = receiver.requests
    assert request.headers["X-Gitea-Signature"]
    (copy,) = (await administered.call("GET", "/repos/ann/new/hooks")).json()
    assert (copy["config"]["url"], copy["branch_filter"], copy["active"]) == (receiver.url, "main", True)
    await administered.call("DELETE", f"{SERVER}/1", **ADMIN)
    assert len((await administered.call("GET", "/repos/ann/new/hooks")).json()) == 1


@pytest.mark.parametrize(
    ("query", "ids"), [("", [1]), ("?type=system", [1]), ("?type=default", [2]), ("?type=all", [1, 2])]
)
async def test_hooks_of_the_server_are_listed_by_type(administered, query, ids):
    await administered.call("POST", SERVER, system_hook("http://one.example.org/", True), **ADMIN)
    await administered.call("POST", SERVER, hook(), **ADMIN)
    answer = await administered.call("GET", SERVER + query, **ADMIN)
    assert [row["id"] for row in answer.json()] == ids
    assert answer.headers["X-Total-Count"] == str(len(ids))
    for id_ in ids:
        assert (await administered.call("GET", f"{SERVER}/{id_}", **ADMIN)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", f"{SERVER}?type=other", None, "type"),
        ("POST", SERVER, system_hook("http://x/", "maybe"), "config.is_system_webhook"),
        ("POST", SERVER, {"type": "gitea", "config": {}}, "config.url"),
        ("POST", OWN, {"type": "pigeon", "config": config()}, "type"),
    ],
)
async def test_bad_input_names_its_field(administered, method, path, body, field):
    answer = await administered.call(method, path, body, **ADMIN)
    assert answer.status_code == 422
    assert field in answer.text


async def test_a_deleted_account_loses_its_hooks(world):
    await world.call("POST", OWN, hook(), user=2)
    world.remove_account(2)
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert await world.rows("hook") == []


async def test_an_inactive_account_gets_nothing(world, receiver):
    await world.call("POST", OWN, hook(receiver.url))
    inactive = Account(id=1, kind="user", login="ann", active=False)
    world.save_account(inactive)
    await world.deliver(UserEdited(account=inactive, previous_login="ann"))
    await world.deliver(push())
    await world.worker.step()
    assert receiver.requests == []


async def test_nothing_of_the_server_belongs_to_an_account(administered):
    """No account has the ids that stand for the server; nor does deleting one take its hooks."""
    await administered.call("POST", SERVER, system_hook("http://x/"), **ADMIN)
    for path in ("/orgs/acme/hooks", HOOKS, OWN):
        answer = await administered.call("GET", f"{path}/1", user=1, admin=True)
        assert answer.status_code == 404
    await administered.deliver(OrganizationDeleted(organization_id=50, login="acme"))
    assert len(await administered.rows("hook")) == 1


async def test_a_test_delivery_names_a_repository_that_does_not_exist(administered, receiver):
    for place, who in ((OWN, {"user": 2}), (SERVER, ADMIN)):
        created = await administered.call("POST", place, hook(receiver.url), **who)
        assert (
            await administered.call("POST", f"{place}/{created.json()['id']}/tests", **who)
        ).status_code == 204
    await administered.worker.step()
    names = {json.loads(request.body)["repository"]["full_name"] for request in receiver.requests}
    assert names == {"bob/example", "root/example"}


async def test_lists_take_the_same_statements_however_long_they_are(administered):
    counts = []
    for _ in range(2):
        for _ in range(4):
            await administered.call("POST", OWN, hook(), **ADMIN)
            await administered.call("POST", SERVER, hook(), **ADMIN)
        with count_statements(administered.db) as statements:
            await administered.call("GET", OWN, **ADMIN)
            await administered.call("GET", f"{SERVER}?type=all", **ADMIN)
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]
