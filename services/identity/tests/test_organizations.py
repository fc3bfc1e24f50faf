"""Organizations, teams, and who is in them."""

import pytest


@pytest.fixture
async def acme(identity):
    """ann owns acme; bob is a user beside it. The ids of ann and bob."""
    ids = [await identity.add_user(name) for name in ("ann", "bob")]
    assert (await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")).status_code == 201
    return ids


async def team(identity, name="devs", **body):
    answer = await identity.call("POST", "/orgs/acme/teams", {"name": name} | body, as_="ann")
    assert answer.status_code == 201
    return answer.json()


async def test_its_creator_owns_an_organization(identity, acme):
    teams = (await identity.call("GET", "/orgs/acme/teams", as_="ann")).json()
    assert [(t["name"], t["permission"]) for t in teams] == [("Owners", "owner")]
    held = (await identity.as_sister(f"/internal/accounts/{acme[0]}/organizations")).json()
    assert [membership["owner"] for membership in held.values()] == [True]


async def test_an_administrator_creates_an_organization_for_somebody(identity, acme):
    made = await identity.call("POST", "/admin/users/bob/orgs", {"username": "bobs"}, as_="root")
    assert made.status_code == 201
    assert [o["username"] for o in (await identity.call("GET", "/user/orgs", as_="bob")).json()] == ["bobs"]


@pytest.mark.parametrize("name", ["ANN", "acme", "", "a/b", "org", "x" * 36])
async def test_an_organization_shares_its_names_with_users(identity, acme, name):
    answer = await identity.call("POST", "/orgs", {"username": name}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "username")


@pytest.mark.parametrize(
    ("visibility", "statuses"),
    [("public", (200, 200, 200)), ("limited", (404, 200, 200)), ("private", (404, 404, 200))],
)
async def test_an_organization_is_seen_by_whom_it_allows(identity, acme, visibility, statuses):
    await identity.call("POST", "/orgs", {"username": "shy", "visibility": visibility}, as_="ann")
    for path in ("/orgs/shy", "/users/shy", "/orgs/shy/members"):
        got = tuple(
            [(await identity.call("GET", path, as_=caller)).status_code for caller in ("", "bob", "ann")]
        )
        assert got == statuses


async def test_members_are_concealed_from_people_outside(identity, acme):
    assert (await identity.call("GET", "/orgs/acme/members", as_="bob")).json() == []
    assert (await identity.call("GET", "/orgs/acme/members", as_="bob")).headers["x-total-count"] == "0"
    assert [m["login"] for m in (await identity.call("GET", "/orgs/acme/members", as_="ann")).json()] == [
        "ann"
    ]


@pytest.mark.parametrize(
    ("asked", "given"), [("read", "read"), ("admin", "admin"), ("owner", "read"), ("x", "read")]
)
async def test_a_team_gets_a_permission_it_may_have(identity, acme, asked, given):
    assert (await team(identity, permission=asked))["permission"] == given


@pytest.mark.parametrize(
    ("name", "code"),
    [("owners", "taken"), ("new", "reserved"), ("", "required"), ("a b", "charset"), ("x" * 31, "length")],
)
async def test_a_bad_team_name_is_refused(identity, acme, name, code):
    answer = await identity.call("POST", "/orgs/acme/teams", {"name": name}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)


async def test_joining_a_team_joins_the_organization_and_is_announced(identity, acme):
    devs = await team(identity)
    assert (await identity.call("PUT", f"/teams/{devs['id']}/members/bob", as_="ann")).status_code == 204
    assert [
        m["login"] for m in (await identity.call("GET", f"/teams/{devs['id']}/members", as_="bob")).json()
    ] == ["bob"]
    assert (await identity.events())[-1] == "identity.membership.changed.v1"
    assert (await identity.call("POST", "/orgs/acme/teams", {"name": "x"}, as_="bob")).status_code == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/teams/{}"),
        ("GET", "/teams/{}/members"),
        ("PUT", "/teams/{}/members/bob"),
        ("DELETE", "/teams/{}/members/ann"),
    ],
)
async def test_a_team_does_not_exist_for_people_outside(identity, acme, method, path):
    devs = await team(identity)
    assert (await identity.call(method, path.format(devs["id"]), as_="bob")).status_code == 404
    assert (await identity.call(method, path.format(devs["id"]))).status_code == 401


async def test_the_last_owner_cannot_leave(identity, acme):
    owners = (await identity.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    assert (await identity.call("DELETE", f"/teams/{owners}/members/ann", as_="ann")).status_code == 422
    await identity.call("PUT", f"/teams/{owners}/members/bob", as_="ann")
    assert (await identity.call("DELETE", f"/teams/{owners}/members/ann", as_="ann")).status_code == 204
    assert (await identity.call("POST", "/orgs/acme/teams", {"name": "x"}, as_="ann")).status_code == 403


async def test_sisters_see_accounts_by_name_and_by_id(identity, acme):
    by_name = (await identity.as_sister("/internal/accounts/by-name/ACME")).json()
    assert (by_name["kind"], by_name["login"]) == ("organization", "acme")
    assert (await identity.as_sister(f"/internal/accounts/{by_name['id']}")).json() == by_name
    assert (await identity.as_sister("/internal/accounts/by-name/nobody")).status_code == 404


async def test_a_token_of_an_administrator_shows_what_an_ordinary_user_sees_unless_it_reaches_further(
    identity, acme
):
    await identity.call("POST", "/orgs", {"username": "shy", "visibility": "private"}, as_="ann")
    seen = {}
    for name, scopes in (
        ("bob", ["read:organization", "read:user"]),
        ("root", ["read:organization", "read:user"]),
        ("root", ["write:organization", "read:user", "read:admin", "sudo"]),
        ("root", ["read:organization", "read:user", "write:admin"]),
    ):
        made = await identity.call("POST", f"/users/{name}/tokens", {"name": "t", "scopes": scopes}, as_=name)
        seen[name, *scopes] = shown = []
        for path in (
            "/orgs/shy",
            "/users/shy",
            "/orgs/shy/members",
            "/orgs/acme/members",
            "/orgs/acme/members/ann",
            "/users/ann/orgs",
        ):
            answer = await identity.call("GET", path, token=made.json()["sha1"])
            shown.append((answer.status_code, answer.headers.get("x-total-count"), answer.text))
    ordinary, reading, acting, administering = seen.values()
    assert reading == acting == ordinary
    assert [status for status, _, _ in ordinary] == [404, 404, 404, 200, 404, 200]
    assert [status for status, _, _ in administering] == [200, 200, 200, 200, 204, 200]
    assert [(ordinary[at][1], administering[at][1]) for at in (3, 5)] == [("0", "1"), ("0", "2")]
