"""Teams whose permission differs by unit."""

import pytest

from ingot_contracts.identity.events import CredentialsRevoked, TeamEdited
from ingot_contracts.identity.units import UNITS, read_levels, write_levels

from ..authentication.test_credentials import principal
from ..world import PASSWORD

MIXED = {"repo.code": "read", "repo.issues": "write", "repo.wiki": "none"}


async def team(world, name="ops", **body):
    answer = await world.call("POST", "/orgs/acme/teams", {"name": name} | body, as_="ann")
    assert answer.status_code == 201, answer.text
    return answer.json()


async def membership_of_mia(world):
    claims = principal(await world.authenticate(name="mia", password=PASSWORD))
    (membership,) = claims["organizations"].values()
    return membership


async def permission_in_principal(world, **body):
    """The permission in the principal of a member of such a team."""
    added = await team(world, **body)
    await world.call("PUT", f"/teams/{added['id']}/members/mia", as_="ann")
    return (await membership_of_mia(world))["teams"][str(added["id"])]


@pytest.mark.parametrize(
    ("units_map", "permission"),
    [
        (MIXED, "read"),
        ({"repo.code": "none", "repo.issues": "none"}, "none"),
        ({"repo.issues": "none"}, "none"),
        ({"repo.pulls": "write", "repo.code": "none"}, "write"),
        ({"repo.ext_wiki": "read", "repo.code": "write"}, "write"),
        ({"repo.ext_wiki": "read", "repo.ext_issues": "none"}, "none"),
        ({"repo.code": "admin", "repo.wiki": "none"}, "write"),
    ],
)
async def test_a_team_shows_its_units_and_the_lowest_permission_above_none(
    world, acme, units_map, permission
):
    created = await team(world, permission="write", units_map=units_map)
    assert created["units_map"] == units_map
    assert sorted(created["units"]) == sorted(units_map)
    assert created["permission"] == permission
    assert (await world.call("GET", f"/teams/{created['id']}", as_="ann")).json() == created
    as_peer = (await world.get_as_peer(f"/internal/teams/{created['id']}")).json()
    assert as_peer["units_map"] == units_map
    assert (as_peer["permission"], as_peer["units"]) == (permission, created["units"])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"permission": "write"}, "write"),
        ({"permission": "none"}, "none"),
        ({"permission": "write", "units": [f"repo.{unit}" for unit in UNITS]}, "write"),
        ({"permission": "admin", "units": ["repo.code"]}, "admin"),
        ({"permission": "admin", "units_map": MIXED}, "admin"),
        ({"units_map": {"repo.code": "admin"}}, "admin"),
        ({"permission": "write", "units": ["repo.issues"]}, {"issues": "write"}),
        ({"units_map": {"repo.issues": "read"}}, {"issues": "read"}),
        ({"units_map": MIXED}, {"code": "read", "issues": "write", "wiki": "none"}),
        ({"units_map": {"repo.code": "none"}}, {"code": "none"}),
    ],
)
async def test_a_principal_says_what_a_team_may_in_each_unit(world, acme, body, expected):
    permission = await permission_in_principal(world, **body)
    levels = {unit: level for unit, level in read_levels(permission).items() if level != "none"}
    if isinstance(expected, str):
        assert permission == expected
    else:
        assert levels == {unit: level for unit, level in expected.items() if level != "none"}
        assert permission not in ("read", "write", "admin", "owner")


async def test_teams_with_all_repositories_add_up_unit_by_unit(world, acme):
    for name, units_map in (("a", MIXED), ("b", {"repo.code": "write"}), ("c", {"repo.pulls": "none"})):
        added = await team(world, name=name, units_map=units_map, includes_all_repositories=True)
        await world.call("PUT", f"/teams/{added['id']}/members/mia", as_="ann")
    everywhere = read_levels((await membership_of_mia(world))["everywhere"])
    assert {unit for unit, level in everywhere.items() if level == "write"} == {"code", "issues"}
    assert set(everywhere.values()) == {"write"}
    whole = await team(world, name="d", permission="read", includes_all_repositories=True)
    await world.call("PUT", f"/teams/{whole['id']}/members/mia", as_="ann")
    everywhere = read_levels((await membership_of_mia(world))["everywhere"])
    assert {unit for unit, level in everywhere.items() if level == "write"} == {"code", "issues"}
    assert set(everywhere.values()) == {"write", "read"}


@pytest.mark.parametrize(
    ("body", "permission", "units_map"),
    [
        ({"units_map": {"repo.code": "write", "repo.pulls": "none"}}, "write", None),
        ({"permission": "write"}, "write", dict.fromkeys(MIXED, "write")),
        ({"units": ["repo.pulls"]}, "read", {"repo.pulls": "read"}),
        ({"permission": "write", "units": ["repo.pulls"]}, "write", {"repo.pulls": "write"}),
        ({"permission": "admin"}, "admin", {f"repo.{unit}": "admin" for unit in UNITS}),
        ({"description": "x"}, "read", MIXED),
    ],
)
async def test_an_edit_of_a_mixed_team_is_shown_and_revokes_principals(
    world, acme, body, permission, units_map
):
    added = await team(world, units_map=MIXED)
    await world.call("PUT", f"/teams/{added['id']}/members/mia", as_="ann")
    edited = (await world.call("PATCH", f"/teams/{added['id']}", body, as_="ann")).json()
    expected = units_map or body["units_map"]
    assert (edited["permission"], edited["units_map"]) == (permission, expected)
    announced = (await world.emitted(TeamEdited))[-1].team
    assert (announced.permission, announced.units_map) == (permission, expected)
    assert len(await world.emitted(CredentialsRevoked)) == ("description" not in body)


async def test_members_are_found_by_the_unit_that_their_team_reaches(world, acme):
    added = await team(world, units_map=MIXED)
    await world.call("PUT", f"/teams/{added['id']}/members/sam", as_="ann")
    organization = (await world.call("GET", "/orgs/acme", as_="ann")).json()["id"]
    sam = (await world.call("GET", "/users/sam", as_="ann")).json()["id"]
    for query, is_member in (
        ("unit=code", True),
        ("unit=code&write=true", False),
        ("unit=issues&write=true", True),
        ("unit=code&unit=issues&write=true", True),
        ("unit=wiki", False),
        ("unit=pulls", False),
        ("write=true", True),
        ("", True),
    ):
        path = f"/internal/organizations/{organization}/team-members?ids={added['id']}&{query}"
        assert (sam in (await world.get_as_peer(path)).json()) == is_member, query


def test_levels_are_written_as_short_texts():
    assert write_levels({}) == ""
    assert write_levels({"code": "read", "pulls": "none"}) == "r-n"
    assert read_levels("r-nx" + "a" * 20)["code"] == "read"
    assert "issues" not in read_levels("r-nx")
    everything = dict.fromkeys(UNITS, "write")
    assert read_levels(write_levels(everything)) == everything
