"""Teams of a repository, by name: who sees, adds and removes them, and what identity is asked."""

import pytest

from ingot_chassis.security.principal import Membership


@pytest.fixture
async def acme(world, ann):
    """ann owns acme with the private acme/app. mia is in its team ops (51); docs is team 52. Return the id of
    acme/app."""
    world.organization(9, "acme")
    world.user(3, "mia")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.join(3, 9, teams={51: "write"})
    world.identity.add_team(50, 9, "owner", name="Owners")
    world.identity.add_team(51, 9, "write", name="ops", description="runs it", units=["repo.code"])
    world.identity.add_team(52, 9, "read", name="docs")
    world.organization(8, "other")
    world.identity.add_team(58, 8, "read", name="theirs")
    answer = await ann.post("/org/acme/repos", {"name": "app", "private": True, "auto_init": True})
    return answer.json()["id"]


@pytest.fixture
async def mia(world, acme):
    return world.user(3, "mia")


async def change(person, method, team, path="acme/app"):
    return await person.call(method, f"/api/v1/repos/{path}/teams/{team}")


async def names(person, query=""):
    answer = await person.get(f"/repos/acme/app/teams{query}")
    assert answer.status_code == 200, answer.text
    return [team["name"] for team in answer.json()], answer.headers["x-total-count"]


async def test_a_team_is_added_shown_and_removed(world, ann, mia, acme):
    assert await names(ann) == (["Owners"], "1")
    assert (await mia.get("/repos/acme/app")).status_code == 404
    assert (await change(ann, "PUT", "OPS")).status_code == 204
    assert (await mia.get("/repos/acme/app")).json()["permissions"]["push"] is True
    shown = await mia.get("/repos/acme/app/teams/ops")
    assert (shown.status_code, shown.json()) == (
        200,
        {
            "id": 51,
            "name": "ops",
            "description": "runs it",
            "permission": "write",
            "units": ["repo.code"],
            "units_map": {"repo.code": "write"},
            "includes_all_repositories": False,
            "can_create_org_repo": False,
            "visibility": "limited",
            "organization": None,
        },
    )
    assert await names(mia) == (["Owners", "ops"], "2")
    assert (await mia.get("/repos/acme/app/teams")).json()[1] == shown.json()
    assert (await change(ann, "DELETE", "ops")).status_code == 204
    assert (await mia.get("/repos/acme/app")).status_code == 404
    assert (await ann.get("/repos/acme/app/teams/ops")).status_code == 404
    grants = [(event["repository_id"], event["teams"]) for event in await world.events("access")]
    assert grants == [(acme, [51]), (acme, [])]


async def test_owners_have_every_repository(world, ann, acme):
    shown = (await ann.get("/repos/acme/app/teams/owners")).json()
    assert (shown["id"], shown["includes_all_repositories"], shown["can_create_org_repo"]) == (50, True, True)
    for method, code in (("PUT", "present"), ("DELETE", "owners")):
        answer = await change(ann, method, "Owners")
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    assert await world.rows("team_grant") == []
    assert await world.events("access") == []


async def test_what_is_there_is_not_added_and_what_is_not_is_not_removed(world, ann, acme):
    await change(ann, "PUT", "ops")
    for method, team, code in (("PUT", "ops", "present"), ("DELETE", "docs", "absent")):
        answer = await change(ann, method, team)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    assert len(await world.events("access")) == 1


@pytest.mark.parametrize("team", ["nothing", "theirs", "51", "%20", "a%2Fb", "x" * 500, "ops%26ids=52"])
async def test_a_team_that_the_organization_has_not_is_not_found(ann, acme, team):
    for method in ("GET", "PUT", "DELETE"):
        assert (await change(ann, method, team)).status_code == 404


async def test_a_user_has_no_teams(ann, bob, acme):
    await ann.create("own")
    for method, path in (("GET", ""), ("GET", "/ops"), ("PUT", "/ops"), ("DELETE", "/ops")):
        answer = await ann.call(method, f"/api/v1/repos/ann/own/teams{path}")
        assert (answer.status_code, answer.headers["allow"]) == (405, "")
        assert (await bob.call(method, f"/api/v1/repos/ann/own/teams{path}")).status_code == (
            405 if method == "GET" else 403
        )


@pytest.mark.parametrize(
    ("who", "statuses"),
    [
        ("anonymous", [401] * 4),
        ("stranger", [403] * 4),
        ("member", [200, 404, 403, 403]),
        ("collaborator", [403] * 4),
        ("administrator", [200, 404, 204, 204]),
        ("owner", [200, 404, 204, 204]),
        ("site", [200, 404, 204, 204]),
    ],
)
async def test_of_a_public_repository_members_read_and_administrators_change(
    world, ann, bob, mia, acme, who, statuses
):
    await ann.call("PATCH", "/api/v1/repos/acme/app", {"private": False})
    people = {"anonymous": world.user(0, ""), "member": mia, "owner": ann, "site": bob.but(admin=True)}
    if who in ("collaborator", "administrator"):
        mode = "admin" if who == "administrator" else "write"
        await ann.call("PUT", "/api/v1/repos/acme/app/collaborators/bob", {"permission": mode})
    person = people.get(who, bob)
    answers = [await person.get("/repos/acme/app/teams")]
    answers += [await change(person, method, "ops") for method in ("GET", "PUT", "DELETE")]
    assert [answer.status_code for answer in answers] == statuses
    if statuses[0] != 200:
        assert "ops" not in "".join(answer.text for answer in answers)


@pytest.mark.parametrize("admin", [False, True])
async def test_a_restricted_token_knows_of_no_teams(ann, acme, admin):
    token = ann.but(restricted_to=[acme], admin=admin)
    assert (await token.get("/repos/acme/app")).status_code == 200
    assert (await token.get("/repos/acme/app/teams")).status_code == 403
    for method in ("GET", "PUT", "DELETE"):
        assert (await change(token, method, "ops")).status_code == 403
    other = ann.but(restricted_to=[acme + 1], admin=admin)
    assert (await other.get("/repos/acme/app/teams")).status_code == 404


async def test_somebody_who_left_the_organization_is_asked_for_again(world, ann, mia, acme):
    await ann.call("PATCH", "/api/v1/repos/acme/app", {"private": False})
    assert await names(mia) == (["Owners"], "1")
    world.identity.memberships[3] = {}
    assert (await mia.get("/repos/acme/app/teams")).status_code == 403
    member = mia.but(organizations={9: Membership()})  # their principal lasts for a minute
    assert await names(member) == (["Owners"], "1")


async def test_pages_count_owners(world, ann, acme):
    for team in ("ops", "docs"):
        await change(ann, "PUT", team)
    assert [await names(ann, f"?limit=1&page={number}") for number in (1, 2, 3, 4)] == [
        (["Owners"], "3"),
        (["ops"], "3"),
        (["docs"], "3"),
        ([], "3"),
    ]


async def test_a_former_name_leads_to_the_present_one(ann, acme):
    await ann.call("PATCH", "/api/v1/repos/acme/app", {"name": "new"})
    answer = await ann.get("/repos/acme/app/teams")
    assert (answer.status_code, answer.headers["location"]) == (302, "/api/v1/repos/acme/new/teams")
    assert (await change(ann, "PUT", "ops")).headers["location"] == "/api/v1/repos/acme/new/teams/ops"


async def test_a_list_asks_as_much_for_many_as_for_one(world, ann, acme):
    async def cost():
        world.identity.paths.clear()
        with world.count_statements() as statements:
            shown, _ = await names(ann, "?limit=50")
        return len(shown), len(statements), len(world.identity.paths)

    await change(ann, "PUT", "ops")
    few = await cost()
    for number in range(12):
        world.identity.add_team(100 + number, 9, name=f"t{number}")
        await change(ann, "PUT", f"t{number}")
    assert await cost() == (14, *few[1:])
