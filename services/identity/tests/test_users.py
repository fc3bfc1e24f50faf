"""Users: made by administrators, seen by others."""

import pytest
from identity_world import SECRET


async def test_an_administrator_creates_a_user(identity):
    body = {"username": "Ann", "email": "Ann@Example.com", "password": "pw", "full_name": "Ann A."}
    answer = await identity.call("POST", "/admin/users", body, as_="root")
    assert answer.status_code == 201
    assert answer.json()["login"] == "Ann"
    assert answer.json()["email"] == "ann@example.com"
    assert "identity.user.created.v1" in await identity.events()


@pytest.mark.parametrize(("caller", "status"), [("", 403), ("ann", 403)])
async def test_nobody_else_creates_users(identity, caller, status):
    await identity.add_user("ann")
    body = {"username": "eve", "email": "eve@example.com", "password": "pw"}
    assert (await identity.call("POST", "/admin/users", body, as_=caller)).status_code == status
    assert (await identity.call("GET", "/users/eve")).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
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
        ({"password": "x" * 256}, "password"),
        ({"full_name": "x" * 101}, "full_name"),
        ({"username": None}, "username"),
    ],
)
async def test_a_bad_field_is_named_and_nothing_is_made(identity, change, field):
    await identity.add_user("ann")
    body = {"username": "bob", "email": "bob@example.com", "password": "pw"} | change
    answer = await identity.call("POST", "/admin/users", body, as_="root")
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert (await identity.events()).count("identity.user.created.v1") == 2


async def test_the_authenticated_user_sees_itself(identity):
    await identity.add_user("ann")
    assert (await identity.call("GET", "/user", as_="ann")).json()["login"] == "ann"
    assert (await identity.call("GET", "/user")).status_code == 401


async def test_the_address_is_shown_to_signed_in_callers_only(identity):
    await identity.add_user("ann")
    assert (await identity.call("GET", "/users/ANN", as_="root")).json()["email"] == "ann@example.com"
    assert (await identity.call("GET", "/users/ann")).json()["email"] == ""


@pytest.mark.parametrize("name", ["nobody", "%00", "..%2f..", "a" * 300, "%E2%82%AC"])
async def test_an_unknown_user_is_not_found(identity, name):
    assert (await identity.call("GET", f"/users/{name}")).status_code == 404


@pytest.mark.parametrize("text", ["Ägir", "ägir", "ÄGIR", "gir ö"])
async def test_search_ignores_the_case_of_all_letters(identity, text):
    body = {"username": "ann", "email": "ann@example.com", "password": SECRET, "full_name": "Ägir Öst"}
    await identity.call("POST", "/admin/users", body, as_="root")
    answer = await identity.call("GET", f"/users/search?q={text}")
    assert [user["login"] for user in answer.json()["data"]] == ["ann"]


async def test_search_finds_parts_of_names_and_counts_all(identity):
    for name in ("anna", "hanna", "bob", "a_b"):
        await identity.add_user(name)
    answer = await identity.call("GET", "/users/search?q=ANN&limit=1")
    assert [user["login"] for user in answer.json()["data"]] == ["anna"]
    assert answer.headers["x-total-count"] == "2"
    assert 'rel="next"' in answer.headers["link"]
    assert [u["login"] for u in (await identity.call("GET", "/users/search?q=_")).json()["data"]] == ["a_b"]
