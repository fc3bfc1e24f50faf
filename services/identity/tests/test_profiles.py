"""Addresses, their privacy, and following."""

import asyncio
import hashlib

import pytest
from identity_world import SECRET


async def addresses(identity, as_="ann"):
    return [e["email"] for e in (await identity.call("GET", "/user/emails", as_=as_)).json()]


async def test_addresses_are_added_in_lower_case_and_answered_alone(identity):
    await identity.add_user("ann")
    answer = await identity.call(
        "POST", "/user/emails", {"emails": [" B@X.io", "a@x.io", "b@x.io"]}, as_="ann"
    )
    assert answer.status_code == 201
    assert answer.json() == [
        {"email": "b@x.io", "verified": True, "primary": False},
        {"email": "a@x.io", "verified": True, "primary": False},
    ]
    assert sorted(await addresses(identity)) == ["a@x.io", "ann@example.com", "b@x.io"]
    assert (await addresses(identity))[0] == "ann@example.com"


async def test_another_of_ones_addresses_becomes_the_primary_one(identity):
    await identity.add_user("ann")
    await identity.call("POST", "/user/emails", {"emails": ["a@x.io", "b@x.io"]}, as_="ann")
    answer = await identity.call("PATCH", "/user/emails", {"email": " B@x.io"}, as_="ann")
    assert answer.json() == {"email": "b@x.io", "verified": True, "primary": True}
    assert await addresses(identity) == ["b@x.io", "ann@example.com", "a@x.io"]
    assert (await identity.call("GET", "/user", as_="ann")).json()["email"] == "b@x.io"
    assert (await identity.events())[-1] == "identity.user.edited.v1"
    assert (await identity.authenticate(name="b@x.io", password=SECRET)).json()["user_id"] > 0
    again = await identity.call("PATCH", "/user/emails", {"email": "b@x.io"}, as_="ann")
    assert again.status_code == 200
    removed = await identity.call("DELETE", "/user/emails", {"emails": ["ann@example.com"]}, as_="ann")
    assert removed.status_code == 204


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"email": "new@x.io"}, 422),
        ({"email": "bob@example.com"}, 422),
        ({"email": ""}, 422),
        ({}, 422),
        ({"email": ["ann@example.com"]}, 400),
        ({"email": 5}, 400),
    ],
)
async def test_only_ones_own_address_becomes_the_primary_one(identity, body, status):
    await identity.add_user("ann")
    await identity.add_user("bob")
    answer = await identity.call("PATCH", "/user/emails", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "email")
    assert await addresses(identity) == ["ann@example.com"]


@pytest.mark.parametrize(
    ("emails", "status", "code"),
    [
        ([], 422, "required"),
        (["new@x.io", "nonsense"], 422, "format"),
        (["new@x.io", "BOB@example.com"], 422, "taken"),
        (["new@x.io", "ann@example.com"], 422, "taken"),
        (["new@x.io", "x" * 250 + "@x.io"], 422, "length"),
        (["new@x.io", "\u0130" * 200 + "@x.io"], 422, "length"),
        (["new@x.io"] * 101, 422, "invalid"),
        ("new@x.io", 400, "type"),
        ([{"email": "new@x.io"}], 400, "type"),
    ],
)
async def test_all_addresses_are_added_or_none(identity, emails, status, code):
    await identity.add_user("ann")
    await identity.add_user("bob")
    answer = await identity.call("POST", "/user/emails", {"emails": emails}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)
    assert answer.json()["errors"][0]["field"].startswith("emails")
    assert await addresses(identity) == ["ann@example.com"]


@pytest.mark.parametrize("emails", [["a@x.io", "unknown@x.io"], ["a@x.io", "ANN@example.com"]])
async def test_all_addresses_are_deleted_or_none(identity, emails):
    await identity.add_user("ann")
    await identity.call("POST", "/user/emails", {"emails": ["a@x.io"]}, as_="ann")
    answer = await identity.call("DELETE", "/user/emails", {"emails": emails}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "emails")
    assert await addresses(identity) == ["ann@example.com", "a@x.io"]
    answer = await identity.call("DELETE", "/user/emails", {"emails": ["A@x.io"]}, as_="ann")
    assert answer.status_code == 204
    assert await addresses(identity) == ["ann@example.com"]
    assert (await identity.call("DELETE", "/user/emails", {}, as_="ann")).status_code == 204


async def test_an_address_cannot_become_the_primary_one_while_it_is_deleted(identity):
    await identity.add_user("ann")
    for number in range(10):
        address = f"n{number}@x.io"
        await identity.call("POST", "/user/emails", {"emails": [address]}, as_="ann")
        chosen, removed = await asyncio.gather(
            identity.call("PATCH", "/user/emails", {"email": address}, as_="ann"),
            identity.call("DELETE", "/user/emails", {"emails": [address]}, as_="ann"),
        )
        assert (chosen.status_code, removed.status_code) in {(200, 422), (422, 204)}
        listed = (await identity.call("GET", "/user/emails", as_="ann")).json()
        assert [e["primary"] for e in listed].count(True) == 1


async def test_an_address_that_is_hidden_is_hidden_everywhere(identity):
    user_id = await identity.add_user("Ann")
    await identity.add_user("bob")
    shown = (await identity.call("GET", "/users/ann", as_="bob")).json()["avatar_url"]
    digest = hashlib.sha256(b"ann@example.com").hexdigest()[:32]
    assert shown.endswith(digest)
    settings = await identity.call("PATCH", "/user/settings", {"hide_email": True}, as_="Ann")
    assert settings.json()["hide_email"] is True
    for caller, path in (("bob", "/users/ann"), ("Ann", "/user"), ("bob", "/users/search?q=ann")):
        answer = await identity.call("GET", path, as_=caller)
        assert "ann@noreply.localhost" in answer.text
        assert "example.com" not in answer.text.replace("ann@noreply", "")
        assert digest not in answer.text
    copied = await identity.as_sister(f"/internal/accounts/{user_id}")
    assert copied.json()["email"] == "ann@noreply.localhost"
    assert digest not in copied.text
    assert (await identity.events())[-1] == "identity.user.edited.v1"


async def test_settings_leave_what_is_absent(identity):
    await identity.add_user("ann")
    await identity.call("PATCH", "/user/settings", {"website": "w", "location": "l"}, as_="ann")
    edited = (await identity.call("PATCH", "/user/settings", {"description": "d"}, as_="ann")).json()
    assert (edited["website"], edited["location"], edited["description"]) == ("w", "l", "d")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"location": "x" * 51}, 422, "location"),
        ({"hide_email": "no"}, 400, "hide_email"),
    ],
)
async def test_bad_settings_name_the_field(identity, body, status, field):
    await identity.add_user("ann")
    answer = await identity.call("PATCH", "/user/settings", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, field)


async def test_following_is_seen_from_both_sides_and_ends(identity):
    for name in ("ann", "bob"):
        await identity.add_user(name)
    for _ in range(2):
        assert (await identity.call("PUT", "/user/following/bob", as_="ann")).status_code == 204

    async def seen(path, as_="ann"):
        answer = await identity.call("GET", path, as_=as_)
        assert answer.headers["x-total-count"] == str(len(answer.json()))
        return [user["login"] for user in answer.json()]

    assert await seen("/user/following") == await seen("/users/ann/following", "bob") == ["bob"]
    assert await seen("/user/followers", "bob") == await seen("/users/bob/followers") == ["ann"]
    for path in ("/user/following/bob", "/users/ann/following/bob"):
        assert (await identity.call("GET", path, as_="ann")).status_code == 204
    assert (await identity.call("DELETE", "/user/following/bob", as_="ann")).status_code == 204
    assert (await identity.call("GET", "/user/following/bob", as_="ann")).status_code == 404
    assert await seen("/users/bob/followers") == []


async def test_nobody_follows_themselves_and_nobody_follows_nobody(identity):
    await identity.add_user("ann")
    assert (await identity.call("PUT", "/user/following/ann", as_="ann")).status_code == 204
    assert (await identity.call("GET", "/user/following", as_="ann")).json() == []
    for method in ("GET", "PUT", "DELETE"):
        assert (await identity.call(method, "/user/following/nobody", as_="ann")).status_code == 404
