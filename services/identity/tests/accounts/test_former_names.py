"""Names that accounts had before they were renamed: reserved for a time, and they lead to the account."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_contracts.identity.events import OrganizationEdited
from ingot_identity.accounts.store.tables import former_name

from ..world import PASSWORD

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def renamed(world, acme):
    """ann is called anna now, and acme is called apex."""
    await world.call("POST", "/admin/users/ann/rename", {"new_username": "Anna"}, as_="root")
    await world.call("POST", "/orgs/acme/rename", {"new_name": "apex"}, as_="root")
    return world


async def end_reservations(world):
    async with world.database.transaction() as tx:
        await tx.execute(update(former_name).values(reserved_until=now() - timedelta(seconds=1)))


async def take(world, how, name):
    """Let another user take ``name``."""
    if how == "new user":
        body = {"username": name, "email": f"{name}@x.io", "password": PASSWORD}
        return await world.call("POST", "/admin/users", body, as_="root")
    if how == "new organization":
        return await world.call("POST", "/orgs", {"username": name}, as_="sam")
    if how == "renamed organization":
        await world.call("POST", "/orgs", {"username": "other"}, as_="sam")
        return await world.call("POST", "/orgs/other/rename", {"new_name": name}, as_="sam")
    return await world.call("POST", "/admin/users/mia/rename", {"new_username": name}, as_="root")


WAYS = {
    "new user": "username",
    "new organization": "username",
    "renamed user": "new_username",
    "renamed organization": "new_name",
}


@pytest.mark.parametrize("name", ["ann", "ACME"])
@pytest.mark.parametrize("how", WAYS)
async def test_nobody_else_takes_a_former_name_until_the_time_is_over(renamed, how, name):
    answer = await take(renamed, how, name)
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["field"], error["code"]) == (422, WAYS[how], "reserved")
    until = (now() + timedelta(days=90)).date().isoformat()
    assert error["message"] == f"{name!r} is reserved until {until} for the account that had it before"
    await end_reservations(renamed)
    assert (await take(renamed, how, name)).is_success


async def test_the_account_itself_takes_its_former_name_back(renamed):
    back = await renamed.call("POST", "/admin/users/anna/rename", {"new_username": "ann"}, as_="root")
    assert back.status_code == 204
    assert (await renamed.call("GET", "/users/ann")).json()["login"] == "ann"
    assert (await renamed.call("GET", "/users/anna")).headers["location"] == "/api/v1/users/ann"
    again = await renamed.call("POST", "/admin/users/ann/rename", {"new_username": "anna"}, as_="root")
    assert again.status_code == 204


LED = [
    ("GET", "/users/ANN", 302, "/users/Anna"),
    ("GET", "/users/ann/followers?page=2", 302, "/users/Anna/followers?page=2"),
    ("GET", "/users/acme", 302, "/users/apex"),
    ("GET", "/orgs/acme", 302, "/orgs/apex"),
    ("PATCH", "/orgs/acme", 307, "/orgs/apex"),
    ("GET", "/orgs/acme/members/mia", 302, "/orgs/apex/members/mia"),
    ("DELETE", "/admin/users/ann", 307, "/admin/users/Anna"),
    ("PUT", "/user/following/ann", 307, "/user/following/Anna"),
]


async def test_a_former_name_leads_to_the_account_until_the_time_is_over(renamed):
    for method, path, status, location in LED:
        answer = await renamed.call(method, path, as_="root")
        assert (answer.status_code, answer.headers.get("location")) == (status, f"/api/v1{location}")
    await end_reservations(renamed)
    for method, path, *_ in LED:
        assert (await renamed.call(method, path, as_="root")).status_code == 404, (method, path)


@pytest.mark.parametrize(("caller", "status"), [("", 404), ("sam", 404), ("mia", 302), ("root", 302)])
async def test_the_former_name_of_a_private_organization_leads_those_who_may_know_of_it(
    renamed, caller, status
):
    await renamed.call("PATCH", "/orgs/apex", {"visibility": "private"}, as_="root")
    hidden = await renamed.call("GET", "/orgs/acme", as_=caller)
    assert hidden.status_code == status
    if status == 404:
        assert hidden.json() == (await renamed.call("GET", "/orgs/nothing", as_=caller)).json()


async def test_other_services_may_ask_by_a_former_name(renamed):
    assert (await renamed.get_as_peer("/internal/accounts/by-name/acme")).status_code == 404
    answer = await renamed.get_as_peer("/internal/accounts/by-name/ACME?former=true")
    assert answer.json()["login"] == "apex"
    current = await renamed.get_as_peer("/internal/accounts/by-name/mia?former=true")
    assert current.json()["login"] == "mia"


async def test_a_change_of_the_letter_case_reserves_nothing(world):
    await world.add_user("ann")
    for name in ("ANN", "ann"):
        answer = await world.call("POST", "/admin/users/ann/rename", {"new_username": name}, as_="root")
        assert answer.status_code == 204
    assert (await world.get_as_peer("/internal/accounts/by-name/ann")).json()["login"] == "ann"


async def test_the_former_names_of_a_deleted_user_are_free(world):
    await world.add_user("ann")
    await world.call("POST", "/admin/users/ann/rename", {"new_username": "anna"}, as_="root")
    assert (await world.call("DELETE", "/admin/users/anna", as_="root")).status_code == 204
    assert await world.add_user("ann") > 0


async def test_without_days_nothing_is_reserved(make_world):
    async with make_world(former_name_days=0) as world:
        await world.add_user("ann")
        await world.call("POST", "/admin/users/ann/rename", {"new_username": "anna"}, as_="root")
        assert (await world.call("GET", "/users/ann")).status_code == 404
        await world.add_user("bob")
        taken = await world.call("POST", "/admin/users/bob/rename", {"new_username": "ann"}, as_="root")
        assert taken.status_code == 204


async def test_a_renamed_organization_is_announced(renamed):
    event = (await renamed.emitted(OrganizationEdited))[-1]
    assert (event.account.login, event.previous_login) == ("apex", "acme")


@pytest.mark.parametrize(
    ("name", "code"),
    [("ANN", "taken"), ("", "required"), ("a b", "charset"), ("user", "reserved"), ("x" * 36, "length")],
)
async def test_a_bad_new_name_of_an_organization_is_refused(world, acme, name, code):
    answer = await world.call("POST", "/orgs/acme/rename", {"new_name": name}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    assert answer.json()["errors"][0]["field"] == "new_name"
