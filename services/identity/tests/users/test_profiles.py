"""Users: made by administrators, seen by others."""

import pytest

from ..world import PASSWORD


async def test_an_administrator_creates_a_user(world):
    body = {"username": "Ann", "email": "Ann@Example.com", "password": PASSWORD, "full_name": "Ann A."}
    answer = await world.call("POST", "/admin/users", body, as_="root")
    assert answer.status_code == 201
    assert answer.json()["login"] == "Ann"
    assert answer.json()["email"] == "ann@example.com"
    assert "identity.user.created.v1" in await world.emitted_types()


@pytest.mark.parametrize(("caller", "status"), [("", 403), ("ann", 403)])
async def test_nobody_else_creates_users(world, caller, status):
    await world.add_user("ann")
    body = {"username": "eve", "email": "eve@example.com", "password": PASSWORD}
    assert (await world.call("POST", "/admin/users", body, as_=caller)).status_code == status
    assert (await world.call("GET", "/users/eve")).status_code == 404


BAD = [
    ({"username": ""}, "username"),
    ({"username": "a b"}, "username"),
    ({"username": "../etc"}, "username"),
    ({"username": "ünal"}, "username"),
    ({"username": "x" * 36}, "username"),
    ({"username": "admin"}, "username"),
    ({"username": "Internal"}, "username"),
    ({"username": "me.keys"}, "username"),
    ({"username": "ANN"}, "username"),
    ({"username": "a\n"}, "username"),
    ({"email": "nonsense"}, "email"),
    ({"email": "a@b@c.de"}, "email"),
    ({"email": "x" * 250 + "@x.io"}, "email"),
    ({"email": "ANN@example.com"}, "email"),
    ({"password": ""}, "password"),
    ({"password": "x" * 7}, "password"),
    ({"password": "x" * 256}, "password"),
    ({"full_name": "x" * 101}, "full_name"),
    ({"username": None}, "username"),
]


async def test_a_bad_field_is_named_and_nobody_is_created(world):
    await world.add_user("ann")
    for change, field in BAD:
        body = {"username": "bob", "email": "bob@example.com", "password": PASSWORD} | change
        answer = await world.call("POST", "/admin/users", body, as_="root")
        assert answer.status_code == 422, change
        assert [error["field"] for error in answer.json()["errors"]] == [field], change
    assert (await world.emitted_types()).count("identity.user.created.v1") == 2


async def test_the_authenticated_user_sees_itself(world):
    await world.add_user("ann")
    assert (await world.call("GET", "/user", as_="ann")).json()["login"] == "ann"
    assert (await world.call("GET", "/user")).status_code == 401


async def test_the_address_is_shown_to_signed_in_callers_only(world):
    await world.add_user("ann")
    assert (await world.call("GET", "/users/ANN", as_="root")).json()["email"] == "ann@example.com"
    assert (await world.call("GET", "/users/ann")).json()["email"] == ""


PRIVATE = {
    "is_admin": False,
    "active": False,
    "prohibit_login": False,
    "language": "",
    "login_name": "",
    "last_login": "0001-01-01T00:00:00Z",
}


async def test_a_user_has_the_fields_of_later_clients(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    changes = {"location": "Here", "website": "https://w.io", "description": "d", "login_name": "ann@ldap"}
    await world.call("PATCH", "/admin/users/ann", changes, as_="root")
    await world.call("PUT", "/user/following/ann", as_="bob")
    await world.authenticate(name="ann", password=PASSWORD)
    shown = (await world.call("GET", "/user", as_="ann")).json()
    assert shown["username"] == shown["login"] == "ann"
    assert shown | changes == shown
    assert (shown["followers_count"], shown["following_count"]) == (1, 0)
    assert (shown["visibility"], shown["active"], shown["is_admin"]) == ("public", True, False)
    for moment in ("created", "last_login"):
        assert len(shown[moment]) == len("2026-11-22T09:00:00Z")
        assert shown[moment] > "2020"
    assert (await world.call("GET", "/user", as_="root")).json()["is_admin"] is True


@pytest.mark.parametrize(("caller", "sees"), [("", False), ("bob", False), ("ann", True), ("root", True)])
async def test_a_stranger_sees_of_a_user_only_what_everybody_may(world, caller, sees):
    for name in ("ann", "bob"):
        await world.add_user(name)
    await world.call("PATCH", "/admin/users/ann", {"admin": True, "login_name": "x"}, as_="root")
    await world.call("PATCH", "/user/settings", {"language": "de"}, as_="ann")
    for path in ("/users/ann", "/users/search?q=ann"):
        answer = (await world.call("GET", path, as_=caller)).json()
        user = answer["data"][0] if "search" in path else answer
        assert ({name: user[name] for name in PRIVATE} == PRIVATE) is not sees
        assert (user["is_admin"], user["language"]) == ((True, "de") if sees else (False, ""))


async def test_a_search_by_id_finds_only_that_user(world):
    ids = {name: await world.add_user(name) for name in ("ann", "anna")}
    answer = await world.call("GET", f"/users/search?uid={ids['anna']}")
    assert [user["login"] for user in answer.json()["data"]] == ["anna"]
    assert (await world.call("GET", f"/users/search?q=bob&uid={ids['anna']}")).json()["data"] == []
    assert (await world.call("GET", "/users/search?uid=999")).json() == {"ok": True, "data": []}
    for bad in (-1, 2**63, "x", 2**70):
        answer = await world.call("GET", f"/users/search?uid={bad}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "uid"


@pytest.mark.parametrize("name", ["nobody", "%00", "..%2f..", "a" * 300, "%E2%82%AC"])
async def test_an_unknown_user_is_not_found(world, name):
    assert (await world.call("GET", f"/users/{name}")).status_code == 404


@pytest.mark.parametrize("text", ["Ägir", "ägir", "ÄGIR", "gir ö"])
async def test_search_ignores_the_case_of_all_letters(world, text):
    body = {"username": "ann", "email": "ann@example.com", "password": PASSWORD, "full_name": "Ägir Öst"}
    await world.call("POST", "/admin/users", body, as_="root")
    answer = await world.call("GET", f"/users/search?q={text}")
    assert [user["login"] for user in answer.json()["data"]] == ["ann"]


async def test_search_finds_parts_of_names_and_counts_all(world):
    for name in ("anna", "hanna", "bob", "a_b"):
        await world.add_user(name)
    answer = await world.call("GET", "/users/search?q=ANN&limit=1")
    assert [user["login"] for user in answer.json()["data"]] == ["anna"]
    assert answer.headers["x-total-count"] == "2"
    assert 'rel="next"' in answer.headers["link"]
    assert [u["login"] for u in (await world.call("GET", "/users/search?q=_")).json()["data"]] == ["a_b"]


@pytest.mark.parametrize(
    ("caller", "names"),
    [("", []), ("bob", ["ann"]), ("cid", ["ann", "cid"]), ("root", ["ann", "cid"])],
)
async def test_search_finds_addresses_that_the_caller_may_see(world, caller, names):
    for name in ("ann", "bob", "cid"):
        await world.add_user(name)
    for name in ("ann", "cid"):
        await world.call("PATCH", f"/admin/users/{name}", {"email": f"{name}@Gitea.io"}, as_="root")
    await world.call("PATCH", "/user/settings", {"hide_email": True}, as_="cid")
    answer = await world.call("GET", "/users/search?q=giteA", as_=caller)
    assert [user["login"] for user in answer.json()["data"]] == names
    assert answer.headers["X-Total-Count"] == str(len(names))
