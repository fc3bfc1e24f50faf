"""Repositories of teams: who gives them, who sees them, which events there are."""

import pytest

from ingot_chassis.security.principal import Membership


@pytest.fixture
async def acme(world, ann):
    """An organization with acme/app: ann owns it, mia is in team 51 (write), team 50 is Owners."""
    world.organization(9, "acme")
    world.user(3, "mia")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.join(3, 9, teams={51: "write"})
    world.identity.add_team(50, 9, "owner")
    world.identity.add_team(51, 9, "write")
    world.identity.add_team(52, 9, "read")
    answer = await ann.post("/org/acme/repos", {"name": "app", "private": True, "auto_init": True})
    return answer.json()


@pytest.fixture
async def mia(world, acme):
    return world.user(3, "mia")


async def give(person, team=51, path="acme/app", method="PUT"):
    return (await person.call(method, f"/api/v1/teams/{team}/repos/{path}")).status_code


async def test_a_new_repository_is_the_owners(ann, mia, acme):
    assert (await ann.get("/teams/50/repos")).json()[0]["id"] == acme["id"]
    assert (await ann.get("/teams/50/repos/acme/app")).json()["id"] == acme["id"]
    assert (await mia.get("/repos/acme/app")).status_code == 404
    assert (await mia.get("/teams/51/repos")).json() == []


async def test_a_team_reaches_what_it_was_given_as_its_permission_says(world, ann, mia, acme):
    assert await give(ann) == 204
    shown = await mia.get("/repos/acme/app")
    assert shown.json()["permissions"] == {"admin": False, "push": True, "pull": True}
    listed = await mia.get("/teams/51/repos")
    assert ([one["id"] for one in listed.json()], listed.headers["x-total-count"]) == ([acme["id"]], "1")
    assert listed.json()[0]["permissions"]["push"] is True
    assert (await mia.get("/teams/51/repos/ACME/App")).json()["id"] == acme["id"]
    assert (await mia.get("/teams/52/repos/acme/app")).status_code == 404
    member = mia.but(organizations={9: Membership(teams={51: "write"})})
    assert [one["id"] for one in (await member.get("/user/repos")).json()] == [acme["id"]]


async def test_giving_and_taking_is_announced_with_everybody_who_has_access(world, ann, bob, acme):
    await ann.call("PUT", "/api/v1/repos/acme/app/collaborators/bob")
    assert [await give(ann, team) for team in (51, 52, 51)] == [204, 204, 204]
    assert await give(ann, 51, method="DELETE") == 204
    assert await give(ann, 51, method="DELETE") == 204
    grants = [(event["collaborators"], event["teams"]) for event in await world.events("access")]
    assert grants == [([2], []), ([2], [51]), ([2], [51, 52]), ([2], [51, 52]), ([2], [52])]


async def test_what_is_taken_from_a_team_is_closed_to_it(ann, mia, acme):
    await give(ann)
    assert (await mia.get("/repos/acme/app")).status_code == 200
    await give(ann, method="DELETE")
    assert (await mia.get("/repos/acme/app")).status_code == 404


async def test_owners_have_everything_and_keep_it(world, ann, acme):
    assert await give(ann, 50) == 204
    assert await world.rows("team_grant") == []
    assert await give(ann, 50, method="DELETE") == 422


async def test_only_administrators_of_the_repository_give_it(ann, mia, acme):
    assert await give(mia) == 404
    await give(ann)
    assert await give(mia, 52) == 403
    assert await give(mia, 51, method="DELETE") == 403
    await ann.call("PUT", "/api/v1/repos/acme/app/collaborators/mia", {"permission": "admin"})
    assert await give(mia, 52) == 204


async def test_a_team_gets_nothing_that_its_organization_does_not_own(ann, acme):
    await ann.create("own")
    assert await give(ann, path="ann/own") == 404
    assert await give(ann, path="acme/nothing") == 404
    assert (await ann.get("/teams/51/repos/ann/own")).status_code == 404


@pytest.mark.parametrize(
    ("who", "restricted", "statuses"),
    [
        ("a stranger", None, [404, 404, 404, 404]),
        ("an administrator of the site", None, [200, 200, 204, 204]),
        ("an administrator of the site", [1], [404, 404, 404, 404]),
    ],
)
async def test_a_team_exists_for_members_and_administrators_of_the_site(
    ann, bob, acme, who, restricted, statuses
):
    person = bob.but(admin=who != "a stranger", restricted_to=restricted)
    await give(ann)
    for team, expected in ((51, statuses), (99, [404] * 4)):
        gets = [await person.get(f"/teams/{team}/repos{path}") for path in ("", "/acme/app")]
        changes = [await give(person, team, method=method) for method in ("PUT", "DELETE")]
        assert [answer.status_code for answer in gets] + changes == expected


async def test_a_member_sees_of_another_team_what_they_may_see_anyway(world, ann, mia, acme):
    await ann.post("/org/acme/repos", {"name": "open"})
    for path in ("acme/app", "acme/open"):
        await give(ann, 52, path)
    listed = await mia.get("/teams/52/repos")
    assert ([one["name"] for one in listed.json()], listed.headers["x-total-count"]) == (["open"], "1")


async def test_a_list_takes_as_many_statements_for_many_as_for_one(world, ann, mia, acme):
    await give(ann)
    with world.count_statements() as few:
        await mia.get("/teams/51/repos")
    for number in range(12):
        await ann.post("/org/acme/repos", {"name": f"r{number}", "private": True})
        await give(ann, path=f"acme/r{number}")
    with world.count_statements() as many:
        assert len((await mia.get("/teams/51/repos?limit=50")).json()) == 13
    assert len(many) == len(few)
