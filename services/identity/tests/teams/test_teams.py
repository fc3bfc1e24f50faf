"""Teams: what they may be called and may do, and who is in them."""

import msgspec
import pytest

from ingot_contracts.identity.events import MembershipChanged, TeamEdited
from ingot_contracts.limits import EVENT_BYTES
from ingot_identity.teams import internal
from ingot_identity.teams import rules as teams

from ..authentication.test_credentials import principal
from ..world import PASSWORD


async def test_an_empty_permission_takes_no_rights_away(world, acme):
    path = f"/teams/{acme[1]}"
    for permission in ("admin", ""):
        edited = await world.call("PATCH", path, {"permission": permission}, as_="ann")
        assert edited.json()["permission"] == "admin"


async def test_an_edit_of_a_team_leaves_what_is_absent(world, acme):
    path = f"/teams/{acme[1]}"
    await world.call("PATCH", path, {"permission": "write", "units": ["repo.code"]}, as_="ann")
    edited = (await world.call("PATCH", path, {"name": "Makers", "description": "d"}, as_="ann")).json()
    assert edited == (await world.call("GET", path, as_="ann")).json()
    assert edited.pop("organization") == (await world.call("GET", "/orgs/acme", as_="ann")).json()
    assert edited == {
        "id": acme[1],
        "name": "Makers",
        "description": "d",
        "permission": "write",
        "units": ["repo.code"],
        "units_map": {"repo.code": "write"},
        "includes_all_repositories": False,
        "can_create_org_repo": False,
        "visibility": "limited",
    }
    as_peers_know_it = (await world.get_as_peer(f"/internal{path}")).json()
    assert as_peers_know_it["permission"] == "write"
    events = await world.emitted(TeamEdited)
    assert [event.team.name for event in events[-2:]] == ["devs", "Makers"]
    assert msgspec.to_builtins(events[-1].team) == as_peers_know_it
    await world.call("PATCH", path, {"name": "Makers"}, as_="ann")
    assert len(await world.emitted(TeamEdited)) == len(events)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"permission": "admin"}),
        ({}, {"includes_all_repositories": True}),
        ({"includes_all_repositories": True}, {"includes_all_repositories": False}),
        ({}, {"can_create_org_repo": True}),
        ({"can_create_org_repo": True}, {"can_create_org_repo": False}),
    ],
)
async def test_what_a_team_may_else_revokes_the_principals_of_its_members(world, acme, before, after):
    await world.call("PATCH", f"/teams/{acme[1]}", before, as_="ann")
    count = len(await world.emitted_types())
    await world.call("PATCH", f"/teams/{acme[1]}", after, as_="ann")
    assert (await world.emitted_types())[count:] == [
        "identity.team.edited.v1",
        "identity.credentials.revoked.v1",
    ]


FLAGS = ("includes_all_repositories", "can_create_org_repo")


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
async def test_a_team_with_all_repositories_or_that_creates_some_says_so_everywhere(world, acme, flags):
    body = dict(zip(FLAGS, flags, strict=True))
    created = await team(world, **body)
    path = f"/teams/{created['id']}"
    await world.call("PUT", f"{path}/members/mia", as_="ann")
    edited = await world.call("PATCH", f"/teams/{acme[1]}", body, as_="ann")
    listed = (await world.call("GET", "/orgs/acme/teams", as_="mia")).json()[1:]
    shown = [created, edited.json(), *listed, *(await world.call("GET", "/user/teams", as_="mia")).json()]
    shown += [
        (await world.call("GET", path, as_="mia")).json(),
        (await world.get_as_peer(f"/internal{path}")).json(),
    ]
    assert len(shown) == 8
    assert {tuple(one[flag] for flag in FLAGS) for one in shown} == {flags}


@pytest.mark.parametrize(
    ("teams_of_mia", "everywhere", "creates"),
    [
        ([], None, None),
        ([{"permission": "admin"}], None, None),
        ([{"includes_all_repositories": True}], "read", None),
        (
            [
                {"includes_all_repositories": True, "permission": "write"},
                {"includes_all_repositories": True, "permission": "read"},
                {"permission": "admin", "can_create_org_repo": True},
            ],
            "write",
            True,
        ),
    ],
)
async def test_a_principal_has_the_most_that_a_team_with_all_repositories_gives(
    world, acme, teams_of_mia, everywhere, creates
):
    for number, body in enumerate(teams_of_mia):
        added = await team(world, name=f"t{number}", **body)
        await world.call("PUT", f"/teams/{added['id']}/members/mia", as_="ann")
    claims = principal(await world.authenticate(name="mia", password=PASSWORD))
    (membership,) = claims["organizations"].values()
    assert (membership.get("everywhere"), membership.get("creates")) == (everywhere, creates)
    left = await world.call("DELETE", "/orgs/acme/members/mia", as_="ann")
    assert left.status_code == 204
    claims = principal(await world.authenticate(name="mia", password=PASSWORD))
    assert "organizations" not in claims


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "OWNERS"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "new"}, "name"),
        ({"name": "x" * 31}, "name"),
        ({"description": "x" * 256}, "description"),
        ({"units": ["repo.nothing"]}, "units"),
        ({"units": ["code"]}, "units"),
        ({"units_map": {"repo.code": "owner"}}, "units_map"),
        ({"units_map": {"repo.code": "x"}}, "units_map"),
        ({"units_map": {"repo.nothing": "read"}}, "units"),
        ({"visibility": "private"}, "visibility"),
    ],
)
async def test_a_bad_edit_of_a_team_names_the_field(world, acme, body, field):
    answer = await world.call("PATCH", f"/teams/{acme[1]}", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize(
    ("body", "permission", "units"),
    [
        ({"units_map": {"repo.code": "write", "repo.pulls": "write"}}, "write", ["repo.code", "repo.pulls"]),
        ({"units_map": {"repo.code": "read"}, "permission": "admin"}, "admin", None),
        ({"units_map": {}, "permission": "write", "units": ["repo.code"]}, "write", ["repo.code"]),
        ({"includes_all_repositories": False, "can_create_org_repo": False, "visibility": ""}, "read", None),
        ({"visibility": "limited"}, "read", None),
        ({"visibility": "public"}, "read", None),
    ],
)
async def test_a_team_has_the_permission_that_all_its_units_have(world, acme, body, permission, units):
    created = (await world.call("POST", "/orgs/acme/teams", {"name": "ops"} | body, as_="ann")).json()
    shown = units or [f"repo.{unit}" for unit in teams.UNITS]
    assert (created["permission"], created["units"]) == (permission, shown)
    assert created["units_map"] == dict.fromkeys(shown, permission)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x"},
        {"permission": "read"},
        {"units": ["repo.code"]},
        {"units_map": {"repo.code": "owner"}},
        {"includes_all_repositories": False},
        {"can_create_org_repo": False},
    ],
)
async def test_the_team_owners_stays_what_it_is(world, acme, body):
    assert (await world.call("PATCH", f"/teams/{acme[0]}", body, as_="ann")).status_code == 422
    assert (await world.call("DELETE", f"/teams/{acme[0]}", as_="ann")).status_code == 422
    before = (await world.call("GET", f"/teams/{acme[0]}", as_="ann")).json()
    for described in ({"description": "us"}, before | {"description": "we"}):
        edited = await world.call("PATCH", f"/teams/{acme[0]}", described, as_="ann")
        assert edited.json() == before | {"description": described["description"]}


async def test_members_of_a_deleted_team_stay_in_the_organization(world, acme):
    assert (await world.call("DELETE", f"/teams/{acme[1]}", as_="ann")).status_code == 204
    assert (await world.emitted_types())[-1] == "identity.team.deleted.v1"
    members = (await world.call("GET", "/orgs/acme/members", as_="ann")).json()
    assert [user["login"] for user in members] == ["ann", "mia"]
    assert (await world.get_as_peer(f"/internal/teams/{acme[1]}")).status_code == 404


async def test_a_member_is_in_so_many_teams_and_no_more(world, acme, monkeypatch):
    monkeypatch.setattr(teams, "MOST_TEAMS", 2)
    team_ids = [
        (await world.call("POST", "/orgs/acme/teams", {"name": f"t{n}"}, as_="ann")).json()["id"]
        for n in range(2)
    ]
    answers = [
        await world.call("PUT", f"/teams/{id_}/members/mia", as_="ann") for id_ in [*team_ids, team_ids[0]]
    ]
    assert [answer.status_code for answer in answers] == [204, 409, 204]
    assert "2 teams" in answers[1].json()["message"]
    assert (await world.emitted(MembershipChanged))[-1].teams == [acme[1], team_ids[0]]
    assert (await world.call("PUT", f"/teams/{team_ids[1]}/members/sam", as_="ann")).status_code == 204


def test_the_teams_of_a_member_fit_into_an_event():
    most = MembershipChanged(
        organization_id=2**63 - 1, user_id=2**63 - 1, member=True, teams=[2**63 - 1] * teams.MOST_TEAMS
    )
    assert len(msgspec.json.encode(most)) < EVENT_BYTES


async def team(world, name="ops", **body):
    answer = await world.call("POST", "/orgs/acme/teams", {"name": name} | body, as_="ann")
    assert answer.status_code == 201
    return answer.json()


@pytest.mark.parametrize(
    ("permission", "saved"), [("read", "read"), ("admin", "admin"), ("owner", "read"), ("x", "read")]
)
async def test_a_team_gets_a_permission_it_may_have(world, acme, permission, saved):
    assert (await team(world, permission=permission))["permission"] == saved


@pytest.mark.parametrize(
    ("name", "code"),
    [("owners", "taken"), ("new", "reserved"), ("", "required"), ("a b", "charset"), ("x" * 31, "length")],
)
async def test_a_bad_team_name_is_refused(world, acme, name, code):
    answer = await world.call("POST", "/orgs/acme/teams", {"name": name}, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)


async def test_joining_a_team_joins_the_organization_and_is_announced(world, acme):
    ops = await team(world)
    assert (await world.call("PUT", f"/teams/{ops['id']}/members/sam", as_="ann")).status_code == 204
    assert [
        m["login"] for m in (await world.call("GET", f"/teams/{ops['id']}/members", as_="sam")).json()
    ] == ["sam"]
    assert (await world.emitted_types())[-1] == "identity.membership.changed.v1"
    assert (await world.call("POST", "/orgs/acme/teams", {"name": "x"}, as_="sam")).status_code == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/teams/{}"),
        ("GET", "/teams/{}/members"),
        ("PUT", "/teams/{}/members/sam"),
        ("DELETE", "/teams/{}/members/ann"),
    ],
)
async def test_a_team_does_not_exist_for_people_outside(world, acme, method, path):
    ops = await team(world)
    assert (await world.call(method, path.format(ops["id"]), as_="sam")).status_code == 404
    assert (await world.call(method, path.format(ops["id"]))).status_code == 401


async def test_teams_are_searched_by_name_and_description(world, acme):
    await team(world, name="Ops", description="they keep it RUNNING")
    for query, expected in (
        ("q=OPS", ["Ops"]),
        ("q=running", ["Ops"]),
        ("q=running&include_desc=false", []),
        ("q=", ["Owners", "devs", "Ops"]),
        ("q=_", []),
    ):
        answer = (await world.call("GET", f"/orgs/acme/teams/search?{query}", as_="mia")).json()
        assert answer["ok"] is True
        assert [row["name"] for row in answer["data"]] == expected


async def test_ones_teams_are_listed_with_their_organizations(world, acme):
    await world.call("POST", "/orgs", {"username": "apex"}, as_="mia")
    listed = (await world.call("GET", "/user/teams", as_="mia")).json()
    assert [(row["name"], row["organization"]["name"]) for row in listed] == [
        ("devs", "acme"),
        ("Owners", "apex"),
    ]
    devs, owners = listed
    assert devs["units_map"]["repo.code"] == "read"
    assert (devs["includes_all_repositories"], owners["includes_all_repositories"]) == (False, True)


async def test_a_member_of_a_team_is_shown_and_nobody_else(world, acme):
    path = f"/teams/{acme[1]}/members"
    assert (await world.call("GET", f"{path}/mia", as_="ann")).json()["login"] == "mia"
    answer = await world.call("GET", f"{path}/sam", as_="ann")
    assert (answer.status_code, answer.content) == (404, b"")
    assert (await world.call("GET", f"{path}/mia", as_="sam")).status_code == 404


async def test_the_last_owner_cannot_leave(world, acme):
    owners = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    assert (await world.call("DELETE", f"/teams/{owners}/members/ann", as_="ann")).status_code == 422
    await world.call("PUT", f"/teams/{owners}/members/sam", as_="ann")
    assert (await world.call("DELETE", f"/teams/{owners}/members/ann", as_="ann")).status_code == 204
    assert (await world.call("POST", "/orgs/acme/teams", {"name": "x"}, as_="ann")).status_code == 403


async def test_an_organization_for_an_archive_has_all_teams_and_their_members(world, acme, monkeypatch):
    organization_id = (await world.call("GET", "/orgs/acme", as_="ann")).json()["id"]
    path = f"/internal/organizations/{organization_id}/export"
    organization = (await world.get_as_peer(path)).json()
    assert (organization["name"], organization["teams"][0]["name"]) == ("acme", "Owners")
    listed = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()
    assert [team["id"] for team in organization["teams"]] == [team["id"] for team in listed]
    for team in listed:
        members = (await world.call("GET", f"/teams/{team['id']}/members", as_="ann")).json()
        logins = organization["members"].get(str(team["id"]), [])
        assert logins == sorted(one["login"] for one in members)
    for limit in ("MOST_EXPORTED_TEAMS", "MOST_EXPORTED_MEMBERS"):
        with monkeypatch.context() as patch:
            patch.setattr(internal, limit, 0)
            assert (await world.get_as_peer(path)).status_code == 413
