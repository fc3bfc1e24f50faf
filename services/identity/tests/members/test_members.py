"""Members of organizations: who they are, who shows it, how they leave."""

import asyncio

import pytest

from ingot_identity.accounts.store import queries as accounts
from ingot_identity.members import store as members
from ingot_testing.service import change_at_once

pytestmark = pytest.mark.both_databases


async def names(world, path, as_=""):
    return [user["login"] for user in (await world.call("GET", path, as_=as_)).json()]


async def test_members_show_and_conceal_themselves(world, acme):
    assert await names(world, "/orgs/acme/public_members") == []
    assert (await world.call("PUT", "/orgs/acme/public_members/mia", as_="mia")).status_code == 204
    assert await names(world, "/orgs/acme/members", "sam") == ["mia"]
    assert await names(world, "/orgs/acme/public_members") == ["mia"]
    assert (await world.call("GET", "/orgs/acme/public_members/mia")).status_code == 204
    assert (await world.call("GET", "/orgs/acme/members/mia", as_="sam")).status_code == 204
    assert (await world.call("DELETE", "/orgs/acme/public_members/mia", as_="mia")).status_code == 204
    concealed = await world.call("GET", "/orgs/acme/members/mia", as_="sam")
    assert (concealed.status_code, concealed.content) == (404, b"")
    assert (await world.call("GET", "/orgs/acme/public_members/mia")).content == b""


async def test_members_are_listed_by_the_names_that_they_have_now(world, acme):
    assert await names(world, "/orgs/acme/members", "ann") == ["ann", "mia"]
    answer = await world.call("POST", "/admin/users/ann/rename", {"new_username": "Zoe"}, as_="root")
    assert answer.is_success, answer.text
    assert await names(world, "/orgs/acme/members", "mia") == ["mia", "Zoe"]
    for name in ("mia", "Zoe"):
        await world.call("PUT", f"/orgs/acme/public_members/{name}", as_=name)
    assert await names(world, "/orgs/acme/public_members") == ["mia", "Zoe"]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("first", ["the rename", "the membership"])
async def test_a_member_who_is_renamed_meanwhile_is_listed_by_the_new_name(world, acme, first):
    paths = ("/users/sam", "/orgs/acme")
    user_id, acme_id = [(await world.call("GET", path)).json()["id"] for path in paths]

    async def rename(tx):
        await accounts.change(tx, user_id, login="aaron", lower_login="aaron")

    async def join(tx):
        await members.add(tx, acme_id, user_id)

    changes = (rename, join) if first == "the rename" else (join, rename)
    await change_at_once(world.database, *changes)
    assert await names(world, "/orgs/acme/members", "ann") == ["aaron", "ann", "mia"]


async def test_other_services_learn_which_memberships_are_shown(world, acme):
    mia = (await world.call("GET", "/users/mia")).json()["id"]
    path = f"/internal/accounts/{mia}/organizations"
    memberships = (await world.get_as_peer(path)).json()
    assert [membership["teams"] for membership in memberships.values()] == [{str(acme[1]): "read"}]
    assert (await world.get_as_peer(f"{path}?public=true")).json() == {}
    await world.call("PUT", "/orgs/acme/public_members/mia", as_="mia")
    assert (await world.get_as_peer(f"{path}?public=true")).json() == memberships


@pytest.mark.parametrize(
    "path", ["/orgs/none/members/mia", "/orgs/acme/members/nobody", "/orgs/ann/members/mia"]
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_is_not_there_is_not_found(world, acme, method, path):
    assert (await world.call(method, path, as_="ann")).status_code == 404


async def test_a_removed_member_leaves_all_teams_and_is_announced(world, acme):
    assert (await world.call("DELETE", "/orgs/acme/members/mia", as_="ann")).status_code == 204
    assert await names(world, f"/teams/{acme[1]}/members", "ann") == []
    assert (await world.emitted_types())[-1] == "identity.membership.changed.v1"
    assert (await world.call("GET", "/orgs/acme/teams", as_="mia")).status_code == 403
    count = len(await world.emitted_types())
    assert (await world.call("DELETE", "/orgs/acme/members/mia", as_="ann")).status_code == 204
    assert len(await world.emitted_types()) == count


async def test_the_last_owner_is_not_removed(world, acme):
    answer = await world.call("DELETE", "/orgs/acme/members/ann", as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "last_owner")


@pytest.mark.parametrize("path", ["/orgs/acme/members/{}", "/teams/{{}}/members/{}"])
async def test_the_last_two_owners_cannot_leave_at_once(world, acme, path):
    await world.call("PUT", f"/teams/{acme[0]}/members/mia", as_="ann")
    await world.call("GET", "/user", as_="mia")
    paths = [path.format(name).format(acme[0]) for name in ("ann", "mia")]
    answers = await asyncio.gather(
        world.call("DELETE", paths[0], as_="ann"), world.call("DELETE", paths[1], as_="mia")
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 204
    assert statuses[1] in (403, 404, 422)
    listed = await names(world, "/orgs/acme/members", "root")
    assert len({"ann", "mia"} & set(listed)) == (1 if "orgs" in path else 2)


@pytest.mark.parametrize("spelling", ["users", "user"])
async def test_organizations_of_a_user_are_shown_to_those_who_may_know_of_them(world, acme, spelling):
    async def organizations(caller):
        answer = await world.call("GET", f"/{spelling}/mia/orgs", as_=caller)
        assert answer.headers["x-total-count"] == str(len(answer.json()))
        return [org["username"] for org in answer.json()]

    assert [await organizations(caller) for caller in ("", "sam", "ann", "mia", "root")] == [
        [],
        [],
        ["acme"],
        ["acme"],
        ["acme"],
    ]
    await world.call("PUT", "/orgs/acme/public_members/mia", as_="mia")
    assert await organizations("") == ["acme"]
    await world.call("PATCH", "/orgs/acme", {"visibility": "limited"}, as_="ann")
    assert [await organizations(""), await organizations("sam")] == [[], ["acme"]]
    await world.call("PATCH", "/orgs/acme", {"visibility": "private"}, as_="ann")
    assert [await organizations("sam"), await organizations("ann")] == [[], ["acme"]]
