"""Teams whose permission differs by unit, and what each unit opens."""

import pytest

from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.units import UNITS, write_levels

pytestmark = pytest.mark.both_databases

APP = "/repos/acme/app"
READS = {
    "code": (
        "/contents/README.md",
        "/branches",
        "/commits",
        "/git/refs",
        "/tags",
        "/languages",
        "/archive/main.zip",
    ),
    "releases": ("/releases", "/releases/latest"),
}
"""Paths below a repository, by the unit that they belong to."""
WRITES = {
    "code": (
        ("POST", "/branches", {"new_branch_name": "b"}),
        ("POST", "/tags", {"tag_name": "t"}),
        ("POST", "/contents/new", {"content": "YQ==", "message": "m", "new_branch": "c"}),
    ),
    "releases": (("POST", "/releases", {"tag_name": "v2"}),),
}
OF_NO_UNIT = (
    "",
    "/topics",
    "/stargazers",
    "/subscribers",
    "/forks",
    "/issue_templates",
    "/assignees",
    "/subscription",
)


@pytest.fixture
async def acme(world, ann):
    """ann owns acme and its private repository app, with one file and one release. Team 51 has it."""
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner", name="Owners")
    world.identity.add_team(51, 9, "none", name="ops")
    answer = await ann.post(
        "/orgs/acme/repos", {"name": "app", "private": True, "auto_init": True, "default_branch": "main"}
    )
    assert (await ann.post(f"{APP}/releases", {"tag_name": "v1"})).status_code == 201
    assert (await ann.call("PUT", "/api/v1/teams/51/repos/acme/app")).status_code == 204
    return answer.json()["id"]


def member(world, everywhere="", **levels):
    """Mia, whose team has these levels."""
    membership = Membership(teams={51: write_levels(levels)}, everywhere=everywhere)
    world.identity.join(3, 9, teams=membership.teams, everywhere=everywhere)
    return world.user(3, "mia").but(organizations={9: membership})


async def statuses(person, unit):
    """Statuses of reads and writes of a unit, without 404 for things that are not there."""
    reads = {path: (await person.get(APP + path)).status_code for path in READS[unit]}
    writes = {
        path: (await person.call(method, f"/api/v1{APP}{path}", body)).status_code
        for method, path, body in WRITES[unit]
    }
    return set(reads.values()), set(writes.values())


@pytest.mark.parametrize("unit", READS)
@pytest.mark.parametrize(
    ("level", "read", "written"),
    [("none", {404}, {404}), ("read", {200}, {403}), ("write", {200}, {201}), ("admin", {200}, {201})],
)
async def test_a_unit_opens_what_belongs_to_it(world, acme, unit, level, read, written):
    levels = dict.fromkeys(UNITS, "read") | {unit: level}
    mia = member(world, **levels)
    assert await statuses(mia, unit) == (read, written)
    other = next(one for one in READS if one != unit)
    assert await statuses(mia, other) == ({200}, {403})
    for path in OF_NO_UNIT:
        assert (await mia.get(APP + path)).status_code in (200, 404 if path == "/subscription" else 200), path
    assert (await mia.call("PATCH", f"/api/v1{APP}", {"description": "x"})).status_code == 403
    assert (await mia.get(f"{APP}/keys")).status_code == 403


@pytest.mark.parametrize("levels", [{}, {"code": "none", "issues": "none"}])
async def test_a_team_without_any_unit_opens_nothing(world, acme, levels):
    mia = member(world, **levels)
    assert (await mia.get(APP)).status_code == 404
    assert (await mia.get("/user/repos")).json() == []
    assert (await mia.get("/repos/search")).json()["data"] == []
    assert (await mia.get(f"/repositories/{acme}")).status_code == 404


@pytest.mark.parametrize(
    ("levels", "permissions", "shown"),
    [
        ({"issues": "write"}, {"admin": False, "push": False, "pull": False}, "write"),
        ({"code": "read", "issues": "write"}, {"admin": False, "push": False, "pull": True}, "read"),
        ({"code": "write"}, {"admin": False, "push": True, "pull": True}, "write"),
        ({"code": "admin"}, {"admin": False, "push": True, "pull": True}, "write"),
    ],
)
async def test_permissions_are_those_in_the_code(world, ann, acme, levels, permissions, shown):
    mia = member(world, **levels)
    assert (await mia.get(APP)).json()["permissions"] == permissions
    (listed,) = (await mia.get("/user/repos")).json()
    (match,) = (await mia.get("/repos/search")).json()["data"]
    (of_team,) = (await mia.get("/teams/51/repos")).json()
    assert listed["permissions"] == match["permissions"] == of_team["permissions"] == permissions
    of_mia = (await ann.get(f"{APP}/collaborators/mia/permission")).json()
    assert (of_mia["permission"], of_mia["role_name"]) == (shown, shown)


@pytest.mark.parametrize(
    ("levels", "fetches", "pushes"),
    [({"issues": "write"}, 404, 404), ({"code": "read"}, 200, 403), ({"code": "write"}, 200, 200)],
)
async def test_git_goes_by_the_code(world, acme, levels, fetches, pushes):
    mia = member(world, **levels)
    refs = "/acme/app.git/info/refs?service=git-"
    assert (await mia.call("GET", f"{refs}upload-pack")).status_code == fetches
    advertised = await mia.call("GET", f"{refs}receive-pack")
    assert advertised.status_code == (200 if pushes == 403 else pushes)  # readers may propose commits
    batch = {"operation": "upload", "objects": [], "transfers": ["basic"]}
    headers = {"content-type": "application/vnd.git-lfs+json"}
    answer = await mia.call("POST", "/acme/app.git/info/lfs/objects/batch", batch, headers=headers)
    assert answer.status_code == pushes, answer.text


@pytest.mark.parametrize("private", [True, False])
async def test_a_public_repository_stays_readable_in_all_units(world, ann, acme, private):
    mia = member(world, issues="write")
    if not private:
        await ann.call("PATCH", f"/api/v1{APP}", {"private": False})
    reads = {404} if private else {200}
    assert await statuses(mia, "code") == (reads, {404} if private else {403})
    assert await statuses(mia, "releases") == (reads, {404} if private else {403})


async def test_levels_of_teams_and_of_a_collaborator_add_up(world, ann, acme):
    mia = member(world, write_levels({"releases": "write"}), code="read")
    await mia.create("own")  # now there is a copy of the account
    assert await statuses(mia, "code") == ({200}, {403})
    assert await statuses(mia, "releases") == ({200}, {201})
    await ann.call("PUT", f"/api/v1{APP}/collaborators/mia", {"permission": "read"})
    access = (await mia.internal("GET", f"{acme}/access")).json()
    assert (access["level"], access["units"]) == ("read", {"releases": "write"})
    await ann.call("PUT", f"/api/v1{APP}/collaborators/mia", {"permission": "admin"})
    access = (await mia.internal("GET", f"{acme}/access")).json()
    assert (access["level"], access["units"]) == ("admin", {})
    assert (await mia.call("PATCH", f"/api/v1{APP}", {"description": "x"})).status_code == 200


async def test_a_peer_of_the_last_release_hears_only_of_the_lowest_level(world, ann, acme):
    mia = member(world, code="write", issues="read")
    access = (await mia.internal("GET", f"{acme}/access")).json()
    assert (access["level"], access["units"]) == ("none", {"code": "write", "issues": "read"})
    level = (await mia.internal("GET", f"{acme}/level?user=3")).json()
    assert level == {"level": "none", "units": {"code": "write", "issues": "read"}}
    path, old = "/internal/readable-repositories", {"ids": [acme]}
    assert (await mia.call("POST", path, old, peer="issues")).json()["ids"] == []
    new = (await mia.call("POST", path, old | {"by_unit": True, "with_levels": True}, peer="issues")).json()
    assert (new["ids"], new["levels"]) == ([acme], ["write"])
    assert new["unreadable"] == {"pulls": [acme], "releases": [acme]}


async def test_a_new_level_counts_before_a_refusal(world, acme):
    stale = member(world, issues="read")
    member(world, code="write")
    assert await statuses(stale, "code") == ({200}, {201})


async def test_people_who_may_be_assigned_and_asked_have_the_unit(world, ann, acme):
    for levels, assigned, requested in (
        ({"issues": "write"}, True, False),
        ({"pulls": "write"}, True, True),
        ({"pulls": "read", "code": "write"}, False, True),
        ({"code": "write"}, False, False),
    ):
        mia = member(world, **levels)
        await mia.post("/user/repos", {"name": "own"})
        logins = [
            [user["login"] for user in (await ann.get(f"{APP}/{kind}")).json()]
            for kind in ("assignees", "reviewers")
        ]
        assert ["mia" in one for one in logins] == [assigned, requested], levels
