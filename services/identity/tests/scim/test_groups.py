"""Groups of SCIM clients, and the teams that they give."""

from urllib.parse import quote

import pytest

from ingot_identity.scim.rules import provisioning
from ingot_identity.sources.store import sources as source_rows

from .clients import GROUP, make_client

TEAMS = {"developers": {"acme": ["devs"]}}


@pytest.fixture
async def client(world, acme):
    del acme
    return await make_client(world, groups_from="scim", group_team_map=TEAMS, admin_groups=["operators"])


async def names_in_team(world, acme):
    """The members of devs whom groups put there."""
    listed = (await world.call("GET", f"/teams/{acme[1]}/members", as_="root")).json()
    return {one["login"] for one in listed} - {"mia"}


async def run_task(world, name="identity_apply_scim_groups"):
    (task,) = [task for task in world.app.state.parts.tasks if task.name == name]
    await task.run_now()


def member(user, op="add"):
    return {"op": op, "path": "members", "value": [{"value": user["id"]}]}


async def test_a_group_is_created_and_shown(client):
    cy = await client.user("cy")
    created = await client.group("developers", cy)
    assert created["schemas"] == [GROUP]
    assert [(one["value"], one["display"]) for one in created["members"]] == [(cy["id"], cy["userName"])]
    assert (await client.call("GET", f"Groups/{created['id']}")).json() == created
    without = (await client.call("GET", f"Groups/{created['id']}?excludedAttributes=members")).json()
    assert "members" not in without


async def test_members_of_a_mapped_group_are_in_the_team_until_they_leave(world, acme, client):
    cy, dan = await client.user("cy"), await client.user("dan")
    group = await client.group("developers", cy)
    path = f"Groups/{group['id']}"
    assert await names_in_team(world, acme) == {"cy"}
    assert (await client.patch(path, member(dan, "Add"))).status_code == 200
    assert await names_in_team(world, acme) == {"cy", "dan"}
    by_filter = {"op": "remove", "path": f'members[value eq "{cy["id"]}"]'}
    assert (await client.patch(path, by_filter)).status_code == 200
    assert await names_in_team(world, acme) == {"dan"}
    assert (await client.patch(path, member(dan, "Remove"))).status_code == 200
    assert await names_in_team(world, acme) == set()


async def test_a_membership_that_a_group_gave_is_not_changed_by_hand(world, acme, client):
    await client.group("developers", await client.user("cy"))
    answer = await world.call("DELETE", f"/teams/{acme[1]}/members/cy", as_="ann")
    assert (answer.status_code, "Corp" in answer.json()["message"]) == (409, True)


async def test_a_replaced_renamed_or_deleted_group_takes_and_gives(world, acme, client):
    cy, dan = await client.user("cy"), await client.user("dan")
    path = f"Groups/{(await client.group('others', cy))['id']}"
    assert await names_in_team(world, acme) == set()
    body = {"displayName": "developers", "members": [{"value": cy["id"]}, {"value": dan["id"]}]}
    assert (await client.call("PUT", path, body)).status_code == 200
    assert await names_in_team(world, acme) == {"cy", "dan"}
    okta = {"op": "replace", "value": {"id": "1", "displayName": "others"}}
    assert (await client.patch(path, okta)).status_code == 200
    assert await names_in_team(world, acme) == set()
    assert (await client.call("PUT", path, body)).status_code == 200
    assert (await client.call("DELETE", path)).status_code == 204
    assert await names_in_team(world, acme) == set()
    assert (await client.call("GET", path)).status_code == 404


async def test_a_deleted_user_leaves_the_teams(world, acme, client):
    cy = await client.user("cy")
    await client.group("developers", cy)
    assert (await client.call("DELETE", f"Users/{cy['id']}")).status_code == 204
    assert await names_in_team(world, acme) == set()


async def test_all_members_are_replaced_and_removed(client):
    cy, dan = await client.user("cy"), await client.user("dan")
    path = f"Groups/{(await client.group('developers', cy))['id']}"
    changed = await client.patch(path, member(dan, "replace"))
    assert [one["value"] for one in changed.json()["members"]] == [dan["id"]]
    changed = await client.patch(path, {"op": "remove", "path": "members"})
    assert changed.json()["members"] == []


async def test_groups_are_found(client):
    cy = await client.user("cy")
    await client.group("developers", cy)
    await client.group("others")
    for filter_, matches in (
        ('displayName eq "Developers"', ["developers"]),
        (f'members.value eq "{cy["id"]}"', ["developers"]),
        (f'members eq "{cy["id"]}" and displayName eq "others"', []),
        ('members.value eq "no id"', []),
    ):
        answer = await client.call("GET", f"Groups?filter={quote(filter_)}")
        assert [one["displayName"] for one in answer.json()["Resources"]] == matches, filter_
    unknown = quote('userName eq "x"')
    answer = await client.call("GET", f"Groups?filter={unknown}")
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidFilter")


async def test_a_changed_mapping_is_applied_by_the_task(world, acme, client):
    await client.group("others", await client.user("cy"))
    config = {"config": {"group_team_map": {"others": {"acme": ["devs"]}}}}
    await world.call("PATCH", f"/admin/auths/{client.source_id}", config, as_="root")
    assert await names_in_team(world, acme) == set()
    await run_task(world)
    assert await names_in_team(world, acme) == {"cy"}


async def test_a_source_whose_groups_come_from_sign_ins_gives_nothing(world, acme):
    client = await make_client(world, "other", group_team_map=TEAMS)
    await client.group("developers", await client.user("cy"))
    await run_task(world)
    assert await names_in_team(world, acme) == set()
    path, config = f"/admin/auths/{client.source_id}", {"config": {"groups_from": "scim"}}
    await world.call("PATCH", path, config, as_="root")
    await run_task(world)
    assert await names_in_team(world, acme) == {"cy"}


async def test_a_group_makes_administrators_and_takes_it_back(world, client):
    cy = await client.user("cy")
    path = f"Groups/{(await client.group('operators', cy))['id']}"
    assert (await world.call("GET", "/users/cy", as_="root")).json()["is_admin"] is True
    assert (await client.patch(path, {"op": "remove", "path": "members"})).status_code == 200
    assert (await world.call("GET", "/users/cy", as_="root")).json()["is_admin"] is False


@pytest.mark.parametrize(
    ("body", "status", "scim_type"),
    [
        ({}, 400, "invalidValue"),
        ({"displayName": "DEVELOPERS"}, 409, "uniqueness"),
        ({"displayName": "x" * 256}, 400, "invalidValue"),
        ({"displayName": "x", "members": [{"value": "99"}]}, 400, "invalidValue"),
        ({"displayName": "x", "members": [{"value": 5}]}, 400, "invalidValue"),
        ({"displayName": "x", "members": ["5"]}, 400, "invalidValue"),
        ({"displayName": "x", "members": [{"value": "1"}] * 10_001}, 400, "invalidValue"),
    ],
)
async def test_a_bad_group_is_refused(client, body, status, scim_type):
    await client.group("developers")
    answer = await client.call("POST", "Groups", body)
    assert (answer.status_code, answer.json()["scimType"]) == (status, scim_type)
    assert (await client.call("GET", "Groups")).json()["totalResults"] == 1


async def test_a_group_that_is_too_large_for_one_request_is_finished_by_the_task(
    world, acme, client, monkeypatch
):
    monkeypatch.setattr(provisioning, "PART", 1)
    monkeypatch.setattr(provisioning, "MOST_APPLIED", 1)
    users = [await client.user(name) for name in ("cy", "dan", "eve")]
    await client.group("developers", *users)
    for _ in range(3):
        await run_task(world)
    assert await names_in_team(world, acme) == {"cy", "dan", "eve"}


@pytest.mark.both_databases
async def test_lists_cost_as_many_statements_however_long_they_are(world, client):
    async def costs():
        counts = []
        for path in ("Users", "Groups"):
            with world.count_statements() as statements:
                assert (await client.call("GET", path)).status_code == 200
            counts.append(len(statements))
        return counts

    await client.group("group", await client.user("cy"))
    few = await costs()
    for number in range(8):
        await client.group(f"group{number}", await client.user(f"u{number}"))
    assert await costs() == few


async def test_a_source_is_read_again_for_its_clients(world, client):
    await world.call("PATCH", f"/admin/auths/{client.source_id}", {"enabled": False}, as_="root")
    assert (await client.call("GET", "Users")).status_code == 403
    async with world.database.read() as db:
        assert (await source_rows.get(db, client.source_id)).enabled is False


async def test_a_group_restricts_users_and_a_deleted_user_stays_restricted(world):
    client = await make_client(world, groups_from="scim", restricted_groups=["contractors"])
    cy, dan = await client.user("cy"), await client.user("dan")
    path = f"Groups/{(await client.group('contractors', cy, dan))['id']}"

    async def restricted():
        users = (await world.call("GET", "/admin/users?is_restricted=true", as_="root")).json()
        return {user["login"] for user in users}

    assert await restricted() == {"cy", "dan"}
    assert (await client.call("DELETE", f"Users/{dan['id']}")).status_code == 204
    assert (await client.patch(path, {"op": "remove", "path": "members"})).status_code == 200
    assert await restricted() == {"dan"}
    # The client sends dan again, in no group yet.
    await client.user("dan")
    await run_task(world)
    assert await restricted() == {"dan"}
    freed = await world.call("PATCH", "/admin/users/dan", {"restricted": False}, as_="root")
    assert (freed.status_code, await restricted()) == (200, set())
