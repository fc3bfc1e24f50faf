"""Restricted users: the right of administrators to restrict, and what restricted users see of identity."""

import pytest

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.events import CredentialsRevoked, UserEdited
from ingot_identity.tokens import rules as tokens

from ..matrix import BODIES, MATRIX, ROLES, Things
from ..world import GATEWAY, PASSWORD


async def restrict(world, name, *, restricted=True):
    answer = await world.call("PATCH", f"/admin/users/{name}", {"restricted": restricted}, as_="root")
    assert answer.status_code == 200
    return answer.json()


async def principal_of(world, name, **credential):
    credential = credential or {"name": name, "password": PASSWORD}
    token = (await world.authenticate(**credential)).json()["statement"]
    return token, await world.app.state.principal_verifier.verify(token)


async def test_an_administrator_restricts_and_releases_a_user(world):
    user_id = await world.add_user("ann")
    assert not (await principal_of(world, "ann"))[1].granted_only
    assert (await restrict(world, "ann"))["restricted"]
    assert (await principal_of(world, "ann"))[1].granted_only
    assert not (await restrict(world, "ann", restricted=False))["restricted"]
    assert not (await principal_of(world, "ann"))[1].granted_only
    edits = [event.account for event in await world.emitted(UserEdited) if event.account.login == "ann"]
    assert [account.granted_only for account in edits] == [True, False]
    # Services that remember a credential forget it, so each change has effect at once.
    assert await world.emitted(CredentialsRevoked) == [CredentialsRevoked(user_id=user_id)] * 2


async def test_a_user_is_created_restricted(world):
    body = {"username": "ann", "email": "ann@example.com", "password": PASSWORD, "restricted": True}
    created = await world.call("POST", "/admin/users", body, as_="root")
    assert (created.status_code, created.json()["restricted"]) == (201, True)
    assert (await principal_of(world, "ann"))[1].granted_only


async def test_only_the_user_and_administrators_see_that_a_user_is_restricted(world):
    for name in ("ann", "sam"):
        await world.add_user(name)
    await restrict(world, "ann")
    shown = {
        name: (await world.call("GET", "/users/ann", as_=name)).json()["restricted"]
        for name in ("", "sam", "ann", "root")
    }
    assert shown == {"": False, "sam": False, "ann": True, "root": True}


async def test_an_administrator_is_never_restricted_in_effect(world):
    user_id = await world.add_user("ann")
    await world.call("PATCH", "/admin/users/ann", {"admin": True, "restricted": True}, as_="root")
    assert not (await principal_of(world, "ann"))[1].granted_only
    async with world.database.transaction() as tx:
        _, secret = await tokens.create(tx, user_id, "t", ["read:user"], None, [])
    # Nor by a token without the rights of an administrator.
    _, principal = await principal_of(world, "ann", token=secret)
    assert (principal.admin, principal.granted_only) == (False, False)
    await world.call("PATCH", "/admin/users/ann", {"admin": False}, as_="root")
    assert (await principal_of(world, "ann"))[1].granted_only


@pytest.mark.parametrize("value", ["yes", 5, [], {"of": True}])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_value_that_is_no_boolean_is_refused_by_its_field(world, method, value):
    await world.add_user("ann")
    body = {"username": "bob", "email": "bob@example.com", "password": PASSWORD, "restricted": value}
    path, body = ("/admin/users/ann", {"restricted": value}) if method == "PATCH" else ("/admin/users", body)
    answer = await world.call(method, path, body, as_="root")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "restricted")


async def test_the_audit_log_has_the_restriction(world):
    body = {"username": "ann", "email": "ann@example.com", "password": PASSWORD, "restricted": True}
    await world.call("POST", "/admin/users", body, as_="root")
    await restrict(world, "ann", restricted=False)
    headers = GATEWAY.headers(ANONYMOUS, peer="gateway")
    entries = (await world.http.get("/internal/audit", headers=headers)).json()
    details = {entry["action"]: entry["details"] for entry in entries if entry["subject"] == "user ann"}
    assert details["user.create"]["restricted"] is True
    assert details["user.edit"]["restricted"] is False


@pytest.fixture
async def people(world, acme):
    """ann owns acme, and mia is a member. rex is restricted and outside, mia is restricted, too."""
    del acme
    await world.add_user("rex")
    await restrict(world, "rex")
    await restrict(world, "mia")
    for name, visibility in (("inner", "limited"), ("shy", "private")):
        await world.call("POST", "/orgs", {"username": name, "visibility": visibility}, as_="ann")
    return world


ROUTES = [route for route in MATRIX if "{org}" in route or "{team}" in route]


@pytest.mark.both_databases
async def test_a_restricted_user_sees_only_their_own_organizations(people):
    lists = {
        name: [one["username"] for one in (await people.call("GET", "/orgs", as_=name)).json()]
        for name in ("", "sam", "rex", "mia", "ann")
    }
    assert lists == {
        "": ["acme"], "sam": ["acme", "inner"], "rex": [], "mia": ["acme"], "ann": ["acme", "inner", "shy"],
    }  # fmt: skip
    for name, logins in lists.items():
        assert (await people.call("GET", "/orgs", as_=name)).headers["x-total-count"] == str(len(logins))
        answer = await people.call("GET", "/orgs?q=c", as_=name)
        assert answer.headers["x-total-count"] == str(len({"acme"} & {*logins}))
    for name in ("acme", "inner", "shy"):
        for path in (f"/orgs/{name}", f"/users/{name}", f"/orgs/{name}/members", f"/orgs/{name}/teams"):
            answer = await people.call("GET", path, as_="rex")
            absent = await people.call("GET", path.replace(name, "absent"), as_="rex")
            assert (answer.status_code, answer.text) == (404, absent.text), path
    assert (await people.call("GET", "/orgs/acme", as_="mia")).status_code == 200


@pytest.mark.both_databases
async def test_a_restricted_user_sees_users_but_not_their_organizations(people):
    await people.call("PUT", "/orgs/acme/public_members/ann", as_="ann")
    assert (await people.call("GET", "/users/ann", as_="rex")).status_code == 200
    for name, expected in (("sam", ["acme"]), ("rex", []), ("mia", ["acme"])):
        answer = await people.call("GET", "/users/ann/orgs", as_=name)
        assert [one["username"] for one in answer.json()] == expected
        assert answer.headers["x-total-count"] == str(len(expected))
    users = (await people.call("GET", "/users/search", as_="rex")).json()["data"]
    assert {"ann", "sam"} <= {one["login"] for one in users}


async def test_a_former_name_of_an_organization_does_not_redirect_a_restricted_user(people):
    await people.call("POST", "/orgs/acme/rename", {"new_name": "apex"}, as_="ann")
    statuses = {
        name: (await people.call("GET", "/orgs/acme", as_=name)).status_code for name in ("sam", "mia", "rex")
    }
    assert statuses == {"sam": 302, "mia": 302, "rex": 404}


async def test_a_token_for_repositories_shows_a_restricted_user_no_organization(people):
    for scopes, repositories in ((["all"], [7]), (["all", "public-only"], [])):
        async with people.database.transaction() as tx:
            user = (await people.call("GET", "/users/rex")).json()["id"]
            _, secret = await tokens.create(tx, user, str(repositories), scopes, None, repositories)
        token, principal = await principal_of(people, "rex", token=secret)
        assert (principal.restricted_to, principal.granted_only) == (repositories, True)
        headers = {"ingot-principal": token}
        listed = await people.http.get("/api/v1/orgs", headers=headers)
        assert (listed.json(), listed.headers["x-total-count"]) == ([], "0")
        assert (await people.http.get("/api/v1/orgs/acme", headers=headers)).status_code == 404
        assert (await people.http.get("/api/v1/users/ann", headers=headers)).status_code == 200


async def test_every_route_of_an_organization_answers_restricted_users_by_their_membership(make_world):
    """A restricted member gets what a member gets, and a restricted stranger 404, as for a private one."""
    async with make_world(sends_mail=True) as world:
        for name in ("sam", "mia", "ann"):
            await world.add_user(name)
        statements = {}
        for name in ("sam", "mia"):
            await restrict(world, name)
            statements[name] = (await principal_of(world, name))[0]
        things, answers, expectations = Things(world), {}, {}
        for route in ROUTES:
            method, path = route.split(" ")
            by_role = dict(zip(ROLES, MATRIX[route], strict=True))
            for name, role in (("sam", "stranger"), ("mia", "member")):
                body = BODIES.get(route, lambda _n, _who: {})(next(things.numbers), name)
                target = f"/api/v1{await things.filled(path, name)}"
                headers = {"ingot-principal": statements[name]}
                body = None if method == "GET" else body
                answer = await world.http.request(method, target, json=body, headers=headers)
                answers[route, name] = answer.status_code
                expectations[route, name] = 404 if role == "stranger" else by_role[role]
                if answer.is_success and method != "GET":
                    things.forget()
        assert answers == expectations
