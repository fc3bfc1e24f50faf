"""The addresses of a user."""

import asyncio

import pytest

from ..world import PASSWORD


async def addresses(world, as_="ann"):
    return [e["email"] for e in (await world.call("GET", "/user/emails", as_=as_)).json()]


async def test_all_addresses_are_answered_in_the_case_in_which_they_were_added(world):
    user_id = await world.add_user("ann")
    answer = await world.call("POST", "/user/emails", {"emails": [" B@X.io", "a@x.io", "b@x.io"]}, as_="ann")
    assert answer.status_code == 201
    account = {"user_id": user_id, "username": "ann"}
    assert answer.json() == [
        {"email": "ann@example.com", "primary": True, "verified": True} | account,
        {"email": "a@x.io", "primary": False, "verified": False} | account,
        {"email": "B@X.io", "primary": False, "verified": False} | account,
    ]
    assert await addresses(world) == ["ann@example.com", "a@x.io", "B@X.io"]
    again = await world.call("POST", "/user/emails", {"emails": ["b@x.IO"]}, as_="ann")
    assert (again.status_code, again.json()["errors"][0]["code"]) == (422, "taken")
    removed = await world.call("DELETE", "/user/emails", {"emails": ["b@x.io"]}, as_="ann")
    assert removed.status_code == 204


async def test_an_account_has_so_many_addresses_and_no_more(world):
    await world.add_user("ann")
    added = await world.call("POST", "/user/emails", {"emails": [f"n{n}@x.io" for n in range(99)]}, as_="ann")
    assert len(added.json()) == 100
    answer = await world.call("POST", "/user/emails", {"emails": ["more@x.io"]}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "length")
    assert len((await world.call("GET", "/user/emails?limit=50&page=2", as_="ann")).json()) == 50


async def test_another_of_ones_addresses_becomes_the_primary_one(world):
    await world.add_user("ann")
    await world.call("POST", "/user/emails", {"emails": ["a@x.io", "b@x.io"]}, as_="ann")
    answer = await world.call("PATCH", "/user/emails", {"email": " B@x.io"}, as_="ann")
    assert (answer.json()["email"], answer.json()["primary"]) == ("b@x.io", True)
    assert await addresses(world) == ["b@x.io", "ann@example.com", "a@x.io"]
    assert (await world.call("GET", "/user", as_="ann")).json()["email"] == "b@x.io"
    assert (await world.emitted_types())[-1] == "identity.user.edited.v1"
    assert (await world.authenticate(name="b@x.io", password=PASSWORD)).json()["user_id"] > 0
    again = await world.call("PATCH", "/user/emails", {"email": "b@x.io"}, as_="ann")
    assert again.status_code == 200
    removed = await world.call("DELETE", "/user/emails", {"emails": ["ann@example.com"]}, as_="ann")
    assert removed.status_code == 204


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"email": "new@x.io"}, 422),
        ({"email": "bob@example.com"}, 422),
        ({"email": ""}, 422),
        ({}, 422),
        ({"email": ["ann@example.com"]}, 422),
        ({"email": 5}, 422),
    ],
)
async def test_only_ones_own_address_becomes_the_primary_one(world, body, status):
    await world.add_user("ann")
    await world.add_user("bob")
    answer = await world.call("PATCH", "/user/emails", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "email")
    assert await addresses(world) == ["ann@example.com"]


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
        ("new@x.io", 422, "type"),
        ([{"email": "new@x.io"}], 422, "type"),
    ],
)
async def test_all_addresses_are_added_or_none(world, emails, status, code):
    await world.add_user("ann")
    await world.add_user("bob")
    answer = await world.call("POST", "/user/emails", {"emails": emails}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)
    assert answer.json()["errors"][0]["field"].startswith("emails")
    assert await addresses(world) == ["ann@example.com"]


@pytest.mark.parametrize("emails", [["a@x.io", "unknown@x.io"], ["a@x.io", "ANN@example.com"]])
async def test_all_addresses_are_deleted_or_none(world, emails):
    await world.add_user("ann")
    await world.call("POST", "/user/emails", {"emails": ["a@x.io"]}, as_="ann")
    answer = await world.call("DELETE", "/user/emails", {"emails": emails}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "emails")
    assert await addresses(world) == ["ann@example.com", "a@x.io"]
    answer = await world.call("DELETE", "/user/emails", {"emails": ["A@x.io"]}, as_="ann")
    assert answer.status_code == 204
    assert await addresses(world) == ["ann@example.com"]
    assert (await world.call("DELETE", "/user/emails", {}, as_="ann")).status_code == 204


async def test_an_address_cannot_become_the_primary_one_while_it_is_deleted(world):
    await world.add_user("ann")
    for number in range(10):
        address = f"n{number}@x.io"
        await world.call("POST", "/user/emails", {"emails": [address]}, as_="ann")
        primary, removed = await asyncio.gather(
            world.call("PATCH", "/user/emails", {"email": address}, as_="ann"),
            world.call("DELETE", "/user/emails", {"emails": [address]}, as_="ann"),
        )
        assert (primary.status_code, removed.status_code) in {(200, 422), (422, 204)}
        listed = (await world.call("GET", "/user/emails", as_="ann")).json()
        assert [e["primary"] for e in listed].count(True) == 1


async def test_an_address_is_shown_as_it_was_given_and_compared_in_lower_case(world):
    body = {"username": "ann", "email": "Ann@Example.com", "password": PASSWORD}
    await world.call("POST", "/admin/users", body, as_="root")
    shown = [one["email"] for one in (await world.call("GET", "/user/emails", as_="ann")).json()]
    assert shown == ["Ann@Example.com"]
    body = {"username": "bob", "email": "aNN@example.com", "password": PASSWORD}
    assert (await world.call("POST", "/admin/users", body, as_="root")).status_code == 422
    await world.call("PATCH", "/admin/users/ann", {"email": "ANN@example.com"}, as_="root")
    shown = [one["email"] for one in (await world.call("GET", "/user/emails", as_="ann")).json()]
    assert shown == ["ANN@example.com"]
    assert (await world.authenticate(name="ann@EXAMPLE.com", password=PASSWORD)).json()["user_id"]


@pytest.mark.parametrize("who", ["chief", "bob"])
async def test_a_claim_does_not_keep_an_address_from_the_account_that_is_given_it(world, who):
    for name in ("ann", "bob"):
        await world.add_user(name)
    await world.call("POST", "/user/emails", {"emails": ["Chief@x.io", "other@x.io"]}, as_="ann")
    body = {"username": "chief", "password": PASSWORD, "email": "chief@x.io"}
    if who == "bob":
        answer = await world.call("PATCH", "/admin/users/bob", {"email": "chief@x.io"}, as_="root")
    else:
        answer = await world.call("POST", "/admin/users", body, as_="root")
    assert answer.status_code in (200, 201), answer.text
    assert await addresses(world) == ["ann@example.com", "other@x.io"]
    assert await addresses(world, who) == ["chief@x.io"]
    again = await world.call("PATCH", "/admin/users/ann", {"email": "chief@x.io"}, as_="root")
    assert again.status_code == 422, "a confirmed address stays"


async def test_an_address_is_confirmed_by_an_administrator_alone(world):
    async def verified():
        shown = (await world.call("GET", "/user/emails", as_="ann")).json()
        return {email["email"]: email["verified"] for email in shown}

    await world.add_user("ann")
    await world.call("POST", "/user/emails", {"emails": ["ceo@company.example"]}, as_="ann")
    await world.call("PATCH", "/user/emails", {"email": "ceo@company.example"}, as_="ann")
    assert await verified() == {"ceo@company.example": False, "ann@example.com": True}
    edit = {"email": "ceo@company.example"}
    assert (await world.call("PATCH", "/admin/users/ann", edit, as_="ann")).status_code == 403
    assert await verified() == {"ceo@company.example": False, "ann@example.com": True}
    assert (await world.call("PATCH", "/admin/users/ann", edit, as_="root")).status_code == 200
    assert await verified() == {"ceo@company.example": True, "ann@example.com": True}
    await world.call("PATCH", "/user/emails", {"email": "ann@example.com"}, as_="ann")
    await world.call("DELETE", "/user/emails", {"emails": ["ceo@company.example"]}, as_="ann")
    await world.call("POST", "/user/emails", {"emails": ["ceo@company.example"]}, as_="ann")
    assert await verified() == {"ceo@company.example": False, "ann@example.com": True}
