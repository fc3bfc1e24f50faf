"""Teams of imports, which repos asks for."""

import json

import pytest

from ingot_contracts.identity.events import MembershipChanged

TEAM = {"import_id": 7, "source_id": 5, "name": "crew", "units_map": {"repo.code": "write"}}


async def id_of(world, name):
    return (await world.call("GET", f"/users/{name}", as_="ann")).json()["id"]


async def bring(world, **more):
    path = f"/internal/organizations/{await id_of(world, 'acme')}/imported-teams"
    answer = await world.post_as_peer(path, TEAM | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def members(world, team_id):
    listed = await world.call("GET", f"/teams/{team_id}/members", as_="ann")
    return {one["login"] for one in listed.json()}


async def test_a_team_comes_with_its_rights_and_members(world, acme):
    sam = await id_of(world, "sam")
    units = {"repo.code": "write", "repo.issues": "read", "repo.wiki": "none"}
    fields = {"description": "those who cook", "units_map": units, "members": [sam, sam, 999]}
    brought = await bring(world, **fields)
    shown = (await world.call("GET", f"/teams/{brought['id']}", as_="ann")).json()
    assert (brought["members"], brought["reason"]) == ([sam], "")
    assert (shown["name"], shown["description"]) == ("crew", "those who cook")
    assert (shown["permission"], shown["units_map"]) == ("read", units)
    assert await members(world, brought["id"]) == {"sam"}
    assert (await world.emitted(MembershipChanged))[-1].teams == [brought["id"]]


async def test_the_same_request_finds_the_same_team_and_adds_members(world, acme):
    sam, mia = await id_of(world, "sam"), await id_of(world, "mia")
    first = await bring(world, members=[sam])
    again = await bring(world, name="other", permission="admin", members=[mia])
    assert (again["id"], again["members"]) == (first["id"], [mia])
    shown = (await world.call("GET", f"/teams/{first['id']}", as_="ann")).json()
    assert (shown["name"], shown["permission"]) == ("crew", "write")
    assert await members(world, first["id"]) == {"sam", "mia"}


@pytest.mark.parametrize("name", ["devs", "DEVS", "owners"])
async def test_an_existing_team_keeps_its_rights_and_members(world, acme, name):
    before = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()
    brought = await bring(world, name=name, permission="admin", members=[await id_of(world, "sam")])
    assert brought == {"id": 0, "members": [], "reason": "taken"}
    assert (await world.call("GET", "/orgs/acme/teams", as_="ann")).json() == before
    assert "sam" not in await members(world, acme[1])


async def test_a_team_of_an_earlier_import_stays_as_it_is(world, acme):
    first = await bring(world)
    brought = await bring(world, import_id=8, permission="admin", members=[await id_of(world, "sam")])
    assert (brought["id"], brought["reason"]) == (0, "taken")
    assert await members(world, first["id"]) == set()


@pytest.mark.parametrize("name", ["new", "the crew", "x" * 31, ""])
async def test_a_name_that_no_team_may_have_is_refused(world, acme, name):
    assert (await bring(world, name=name))["reason"] == "name"


async def test_a_deleted_team_does_not_come_again(world, acme):
    first = await bring(world)
    await world.call("DELETE", f"/teams/{first['id']}", as_="ann")
    assert await bring(world) == {"id": 0, "members": [], "reason": "deleted"}


@pytest.mark.parametrize("is_new", [True, False])
async def test_only_a_new_organization_gets_owners_and_teams_with_everything(world, acme, is_new):
    sam = await id_of(world, "sam")
    fields = {"includes_all_repositories": True, "can_create_org_repo": True, "permission": "admin"}
    brought = await bring(world, is_new=is_new, **fields)
    shown = (await world.call("GET", f"/teams/{brought['id']}", as_="ann")).json()
    assert (shown["permission"], shown["includes_all_repositories"]) == ("admin", is_new)
    assert shown["can_create_org_repo"] is is_new
    owners = await bring(world, source_id=6, permission="owner", is_new=is_new, members=[sam])
    assert (owners["id"], owners["reason"]) == ((acme[0], "") if is_new else (0, "owners"))
    assert ("sam" in await members(world, acme[0])) is is_new


@pytest.mark.parametrize(("is_new", "who"), [(True, {"sam", "mia"}), (False, {"mia"})])
async def test_nobody_joins_a_private_organization_that_was_there_before(world, acme, is_new, who):
    await world.call("PUT", f"/teams/{acme[1]}/members/mia", as_="ann")
    await world.call("PATCH", "/orgs/acme", {"visibility": "private"}, as_="ann")
    brought = await bring(
        world, is_new=is_new, members=[await id_of(world, "sam"), await id_of(world, "mia")]
    )
    assert await members(world, brought["id"]) == who
    assert len(brought["members"]) == len(who)


@pytest.mark.parametrize("change", [{"active": False}, {"prohibit_login": True}])
async def test_who_may_not_sign_in_does_not_join(world, acme, change):
    await world.call("PATCH", "/admin/users/sam", change, as_="root")
    brought = await bring(world, members=[await id_of(world, "sam"), await id_of(world, "acme")])
    assert brought["members"] == []


async def test_a_member_by_an_address_has_confirmed_it(world, acme):
    sam = await id_of(world, "sam")
    added = await world.call("POST", "/user/emails", {"emails": ["claim@example.com"]}, as_="sam")
    assert added.status_code == 201, added.text
    for address in ("claim@example.com", "ann@example.com", ""):
        assert (await bring(world, members=[sam], addresses={sam: address}))["members"] == []
    brought = await bring(world, members=[sam], addresses={sam: "SAM@example.com"})
    assert await members(world, brought["id"]) == {"sam"}


async def test_only_repos_brings_teams(world, acme):
    path = f"/internal/organizations/{await id_of(world, 'acme')}/imported-teams"
    assert (await world.http.post(path, json=TEAM)).status_code == 404
    assert (await world.post_as_peer("/internal/organizations/999/imported-teams", TEAM)).status_code == 404


async def entries(world, action):
    table = world.database.metadata.tables["audit_entry"]
    async with world.database.read() as db:
        rows = (await db.execute(table.select().where(table.c.action == action).order_by(table.c.id))).all()
    return [(row.actor, row.actor_id, row.via, row.subject, json.loads(row.details)) for row in rows]


async def test_the_audit_log_names_who_imported_teams_and_members(world, acme):
    ann, sam, mia = [await id_of(world, name) for name in ("ann", "sam", "mia")]
    subject = f"of organization {await id_of(world, 'acme')}"
    before = len(await entries(world, "team.create"))
    brought = await bring(world, members=[sam], requested_by=ann)
    created = (await entries(world, "team.create"))[before:]
    [(actor, actor_id, via, named, details)] = created
    assert (actor, actor_id, via, named) == ("ann", ann, "import", f"team crew ({brought['id']}) {subject}")
    assert (details["units"], details["import_id"]) == (["repo.code: write"], 7)
    await bring(world, members=[sam, mia], requested_by=ann)
    added = [one for one in await entries(world, "team.add_member") if one[2] == "import"]
    assert [(one[0], one[3], one[4]) for one in added] == [
        ("ann", named, {"user": name, "import_id": 7}) for name in ("sam", "mia")
    ]
    assert len(await entries(world, "team.create")) == before + 1


async def test_a_refused_team_has_no_entry(world, acme):
    before = await entries(world, "team.create")
    await bring(world, name="devs", requested_by=await id_of(world, "ann"))
    assert await entries(world, "team.create") == before
