"""Lists for site administrators, and their filters."""

import pytest

from ..two_factors.test_two_factors import enrol
from ..world import PASSWORD

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def people(world):
    """ann is an administrator, bob is not active, cy may not sign in and comes from another directory.

    bob and ann are restricted."""
    for name in ("ann", "cy", "bob"):
        await world.add_user(name)
    for name, change in (
        ("ann", {"admin": True, "full_name": "Ann Ode", "restricted": True}),
        ("bob", {"active": False, "restricted": True}),
        ("cy", {"prohibit_login": True, "login_name": "cy@ldap"}),
    ):
        await world.call("PATCH", f"/admin/users/{name}", change, as_="root")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    return world


FILTERS = [
    ("", "ann bob cy root"),
    ("?sort=name&order=desc", "root cy bob ann"),
    ("?sort=id", "root ann cy bob"),
    ("?sort=created&order=desc", "bob cy ann root"),
    ("?sort=updated", "root ann bob cy"),
    ("?order=desc", "root cy bob ann"),
    ("?sort=&order=&visibility=", "ann bob cy root"),
    ("?q=ODE", "ann"),
    ("?q=cy@example", "cy"),
    ("?q=nothing", ""),
    ("?is_admin=true", "ann root"),
    ("?is_admin=false&is_active=true", "cy"),
    ("?is_active=false", "bob"),
    ("?is_prohibit_login=true", "cy"),
    ("?login_name=cy@ldap", "cy"),
    ("?source_id=0", "ann bob cy root"),
    ("?source_id=4", ""),
    ("?visibility=public&is_2fa_enabled=false", "ann bob cy root"),
    ("?visibility=private", ""),
    ("?is_restricted=true", "ann bob"),
    ("?is_restricted=true&is_active=true&q=ode", "ann"),
    ("?is_restricted=false", "cy root"),
    ("?is_2fa_enabled=true", ""),
]


async def test_users_are_filtered_and_sorted(people):
    for query, expected in FILTERS:
        answer = await people.call("GET", f"/admin/users{query}", as_="root")
        assert [user["login"] for user in answer.json()] == expected.split(), query
        assert answer.headers["x-total-count"] == str(len(expected.split())), query


async def test_users_are_filtered_by_their_second_factor(people):
    await enrol(people, "ann")
    await people.call("POST", "/user/two_factor", as_="root")  # and does not confirm it
    for query, expected in (("true", ["ann"]), ("false", ["bob", "cy", "root"])):
        answer = await people.call("GET", f"/admin/users?is_2fa_enabled={query}", as_="root")
        assert [user["login"] for user in answer.json()] == expected


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("sort=password_hash", "sort"),
        ("order=up", "order"),
        ("visibility=secret", "visibility"),
        ("is_admin=perhaps", "is_admin"),
        ("source_id=x", "source_id"),
    ],
)
async def test_a_bad_filter_is_named(world, query, field):
    answer = await world.call("GET", f"/admin/users?{query}", as_="root")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


async def test_administrators_see_all_organizations_and_others_those_they_may_know_of(people):
    await people.call("POST", "/orgs", {"username": "open"}, as_="root")
    await people.call("POST", "/orgs", {"username": "shy", "visibility": "limited"}, as_="root")
    await people.call("POST", "/orgs", {"username": "sect", "visibility": "private"}, as_="root")
    body = {"username": "dan", "email": "dan@example.com", "password": PASSWORD}
    await people.call("POST", "/admin/users", body, as_="root")
    teams = (await people.call("GET", "/orgs/sect/teams", as_="root")).json()

    async def names(path, caller):
        answer = await people.call("GET", path, as_=caller)
        assert answer.headers["x-total-count"] == str(len(answer.json()))
        return [row["name"] for row in answer.json()]

    everything = ["acme", "open", "sect", "shy"]
    assert await names("/admin/orgs", "root") == everything
    assert await names("/orgs", "root") == everything
    assert await names("/orgs", "") == ["acme", "open"]
    assert await names("/orgs", "dan") == ["acme", "open", "shy"]
    await people.call("PUT", f"/teams/{teams[0]['id']}/members/dan", as_="root")
    assert await names("/orgs", "dan") == everything


async def test_addresses_are_listed_with_their_owners_and_searched(people):
    await people.call("POST", "/user/emails", {"emails": ["Odd@X.io"]}, as_="ann")
    listed = (await people.call("GET", "/admin/emails", as_="root")).json()
    assert [row["username"] for row in listed] == ["ann", "bob", "cy", "ann", "root"]
    assert [row["email"] for row in listed][3] == "Odd@X.io"
    for text, expected in (("ODD", ["Odd@X.io"]), ("bob", ["bob@example.com"]), ("%", [])):
        rows = (
            await people.call("GET", f"/admin/emails/search?q={text.replace('%', '%25')}", as_="root")
        ).json()
        assert [row["email"] for row in rows] == expected
