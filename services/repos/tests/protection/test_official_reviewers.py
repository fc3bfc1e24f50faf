"""Reviewers whose decisions count for a branch, by its current rule and by their current access.

The organization acme (9) owns acme/app: Ann (1) owns it, Bob (2) may write by the team 51.
Cat (3) reads by the team 52.
Dan (4) is in no team of the repository, Eve (5) is a stranger.
"""

import pytest

from ingot_chassis.errors import NO_OPERATION
from ingot_contracts.identity.events import OrganizationEdited, UserEdited

pytestmark = pytest.mark.both_databases
PEOPLE = {1: "ann", 2: "bob", 3: "cat", 4: "dan", 5: "eve"}


@pytest.fixture
async def owner(world):
    """Ann, who has created acme/app with the rule ``listed`` for approvers and ``main`` without a list."""
    world.organization(9, "acme")
    for team_id, permission in ((50, "owner"), (51, "write"), (52, "read"), (53, "write")):
        world.identity.add_team(team_id, 9, permission)
    people = {number: world.user(number, name) for number, name in PEOPLE.items()}
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    for number, teams in ((2, {51: "write"}), (3, {52: "read"}), (4, {53: "write"})):
        world.identity.join(number, 9, teams=teams)
    owner = people[1].but(organizations=world.identity.memberships[1])
    assert (await owner.post("/orgs/acme/repos", {"name": "app", "auto_init": True})).status_code == 201
    for team_id in (51, 52):
        name = world.identity.teams[team_id].name
        answer = await owner.call("PUT", f"/api/v1/repos/acme/app/teams/{name}")
        assert answer.status_code == 204, answer.text
    await protect(owner, "main", required_approvals=1)
    await protect(
        owner,
        "listed",
        enable_approvals_whitelist=True,
        approvals_whitelist_username=["bob", "dan"],
        approvals_whitelist_teams=[world.identity.teams[52].name],
    )
    return owner


async def protect(person, name, **fields):
    answer = await person.post("/repos/acme/app/branch_protections", {"rule_name": name, **fields})
    assert answer.status_code == 201, answer.text


async def official(world, branch, ids=tuple(PEOPLE), teams=()):
    question = {"branch": branch, "ids": list(ids), "team_ids": list(teams)}
    path = "/internal/repositories/1/official-reviewers"
    answer = await world.user(0, "").call("POST", path, question, peer="issues")
    assert answer.status_code == 200, answer.text
    return answer.json()["ids"], answer.json()["team_ids"]


@pytest.mark.parametrize("branch", ["main", "unprotected"])
async def test_without_a_list_those_count_who_may_write(world, owner, branch):
    assert await official(world, branch, teams=(50, 51, 52, 53, 99)) == ([1, 2], [50, 51])
    await owner.call("PUT", "/api/v1/repos/acme/app/collaborators/eve", {"permission": "write"})
    assert await official(world, branch) == ([1, 2, 5], [])


async def test_with_a_list_those_count_whom_it_names_by_themselves_or_by_a_team(world, owner):
    assert await official(world, "listed", teams=(51, 52)) == ([2, 3, 4], [52])


@pytest.mark.parametrize("visibility", ["public", "limited", "private"])
async def test_a_restricted_user_counts_only_with_a_grant(world, owner, visibility):
    organization = world.organization(9, "acme", visibility=visibility)
    await world.deliver(OrganizationEdited(account=organization, previous_login="acme"))
    assert await official(world, "listed") == ([2, 3, 4], [])
    for number in (3, 4):
        restricted = world.identity.add_account(number, PEOPLE[number], granted_only=True)
        await world.deliver(UserEdited(account=restricted, previous_login=PEOPLE[number]))
    # Cat reads by a team, Dan only because the repository is public.
    assert await official(world, "listed") == ([2, 3], [])
    await owner.call("PUT", "/api/v1/repos/acme/app/collaborators/dan", {"permission": "read"})
    assert await official(world, "listed") == ([2, 3, 4], [])


@pytest.mark.parametrize("branch", ["main", "listed"])
async def test_who_has_left_a_team_or_may_not_sign_in_counts_no_more(world, owner, branch):
    world.identity.memberships[4] = {}
    world.identity.memberships[2] = {}
    inactive = world.identity.add_account(3, "cat", active=False)
    await world.deliver(UserEdited(account=inactive, previous_login="cat"))
    await owner.call("PATCH", "/api/v1/repos/acme/app", {"private": True})
    assert (await official(world, branch))[0] == ([1] if branch == "main" else [])


async def test_a_list_names_readers_alone_in_a_private_organization(world, owner):
    hidden = world.organization(9, "acme", visibility="private")
    await world.deliver(OrganizationEdited(account=hidden, previous_login="acme"))
    await protect(owner, "eves", enable_approvals_whitelist=True, approvals_whitelist_username=["eve", "dan"])
    assert (await official(world, "eves"))[0] == [4]


async def test_a_site_administrator_counts_as_somebody_who_may_write(world, owner):
    world.user(6, "root", admin=True)
    assert (await official(world, "main", ids=(5, 6)))[0] == [6]
    assert (await official(world, "listed", ids=(5, 6)))[0] == []


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("branch", ["main", "{}_listed", "{}_teams"])
async def test_the_number_of_statements_and_calls_is_the_same_for_many(world, owner, branch, visibility):
    acme = world.organization(9, "acme", visibility=visibility)
    await world.deliver(OrganizationEdited(account=acme, previous_login="acme"))
    names = [world.identity.teams[number].name for number in (51, 52)]
    for name, people, teams in (("one", ["bob"], names[:1]), ("many", list(PEOPLE.values()), names)):
        rule = {"enable_approvals_whitelist": True, "approvals_whitelist_username": people}
        await protect(owner, f"{name}_listed", **rule)
        await protect(owner, f"{name}_teams", **rule, approvals_whitelist_teams=teams)
    counts = []
    for name, ids in (("one", (2,)), ("many", tuple(PEOPLE))):
        world.identity.paths.clear()
        with world.count_statements() as statements:
            await official(world, branch.format(name), ids=ids, teams=range(50, 50 + len(ids)))
        counts.append((len(statements), len(world.identity.paths)))
    assert counts[0][0]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("branch", ["main", "listed"])
async def test_identity_of_a_former_release_is_waited_for(world, owner, monkeypatch, branch):
    """It has neither route; what it cannot say is no 404 of a repository."""
    routed = world.identity._routed

    def former(method, path, query, body):
        if path in ("/internal/administrators", "/internal/organizations/9/members"):
            return 404, {"message": NO_OPERATION, "url": ""}
        return routed(method, path, query, body)

    monkeypatch.setattr(world.identity, "_routed", former)
    question = {"branch": branch, "ids": [2]}
    path = "/internal/repositories/1/official-reviewers"
    answer = await world.user(0, "").call("POST", path, question, peer="issues")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
