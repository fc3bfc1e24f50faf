"""Teams of imported organizations, with members by mapping."""

from urllib.parse import urlsplit

import pytest

from ingot_remotes.forges import organizations
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.rules import REASONS, TEAM_REASONS
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import status
from .test_organization_imports import (  # noqa: F401 - fixtures
    begin,
    change_account,
    kill_step,
    root,
    settings,
    source,
    work,
)  # fmt: skip

CAT, DOG, EVE = (
    {"id": 70, "login": "cat", "email": "ANN@example.org"},
    {"id": 71, "login": "dog", "email": ""},
    {"id": 72, "login": "stranger", "email": "stranger@example.org"},
)
TEAMS = [
    {"id": 1, "name": "Owners", "permission": "owner", "includes_all_repositories": True},
    {
        "id": 2, "name": "crew", "description": "cooks", "permission": "read",
        "units_map": {"repo.code": "write", "repo.issues": "admin", "repo.new": "admin"},
    },
    {
        "id": 3, "name": "all", "permission": "admin", "includes_all_repositories": True,
        "can_create_org_repo": True,
    },
    {"id": 4, "name": "the crew", "permission": "write", "units": ["repo.code"]},
    {"id": 5, "name": "old", "permission": "write", "units": ["repo.code"], "units_map": None},
    {"id": 6, "name": "none", "permission": "write"},
]  # fmt: skip
DONE = {"done": 2, "failed": 0}


@pytest.fixture
def teams(source):  # noqa: F811
    lists = {"orgs/there/teams": TEAMS, **{f"teams/{one['id']}/members": [] for one in TEAMS}}
    lists |= {f"teams/{one['id']}/repos": [] for one in TEAMS}
    lists |= {"teams/1/members": [CAT], "teams/2/members": [CAT, DOG, EVE], "teams/3/members": [EVE]}
    lists["teams/2/repos"] = [{"name": "One"}, {"name": "elsewhere"}]
    source.lists = {f"/api/v1/{path}": rows for path, rows in lists.items()}
    return source


@pytest.fixture
async def people(ann, bob):
    """Make copies of accounts."""
    await ann.create("mine")
    await bob.create("mine")


async def listed(root, path):  # noqa: F811
    return {one["name"]: one for one in (await root.get(f"{path}/teams")).json()}


def team_of(world, name):
    return next(team for team in world.identity.teams.values() if team.name == name)


async def granted(world):
    """Return the names of the repositories by the names of their teams."""
    names = {row.id: row.name for row in await world.rows("repository")}
    teams = {team.id: team.name for team in world.identity.teams.values()}
    grants = {}
    for row in await world.rows("team_grant"):
        grants.setdefault(teams[row.team_id], set()).add(names[row.repository_id])
    return grants


async def bring(world, root, source, **more):  # noqa: F811
    fields = {"repositories": ["one", "two"], "teams": True, **more}
    path = await begin(root, source, **fields)
    await work(world, 6)
    return path


async def set_place_of_teams(world, place):
    table = world.database.metadata.tables["organization_import"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().where(table.c.state != "done").values(teams_place=place))


async def wait_for_teams(world, root, source, names=("one", "two"), **more):  # noqa: F811
    """Begin an import of an earlier release, and return its path when only teams are missing."""
    path = await begin(root, source, repositories=[*names], teams=True, issues=True, **more)
    await set_place_of_teams(world, None)
    await work(world, 3)
    for one in (await root.get(f"{path}/repositories")).json():
        await root.call("POST", f"/internal/imports/{one['id']}/pages", {"is_refused": True}, peer="issues")
    await set_place_of_teams(world, "")
    assert (await root.get(path)).json()["status"] == "running"
    return path


async def test_teams_come_with_rights_members_and_repositories(world, root, people, teams):  # noqa: F811
    path = await bring(world, root, teams, organization="fresh", people={"dog": "bob"})
    state = (await root.get(path)).json()
    assert (state["status"], state["error"], state["teams"]) == ("done", "", {"done": 5, "failed": 1})
    rows = await listed(root, path)
    assert [*rows] == [one["name"] for one in TEAMS]
    assert rows["the crew"]["error"] == TEAM_REASONS["name"]
    assert (rows["crew"]["status"], rows["crew"]["members"]) == ("done", 2)
    crew, everywhere = team_of(world, "crew"), team_of(world, "all")
    assert (crew.permission, crew.description) == ("none", "cooks")
    assert crew.units_map == {"repo.code": "write", "repo.issues": "write"}
    assert (everywhere.permission, everywhere.includes_all_repositories) == ("admin", True)
    assert everywhere.can_create_org_repo is True
    assert (team_of(world, "old").units_map, team_of(world, "none").units_map) == ({"repo.code": "write"}, {})
    assert world.identity.imported_members[crew.id] == {1, 2}
    assert world.identity.imported_members[everywhere.id] == set()
    assert await granted(world) == {"crew": {"one"}}
    absent = (await root.get(f"{path}/absent_members")).json()
    assert absent == [{"login": "stranger", "id": 72, "teams": 2}]


async def test_an_organization_that_was_there_gets_no_rights_beyond_the_import(
    world, root, people, teams  # noqa: F811
):  # fmt: skip
    await root.post("/orgs/acme/repos", {"name": "secret", "private": True})
    path = await bring(world, root, teams, people={"dog": "bob"})
    rows = await listed(root, path)
    assert (rows["Owners"]["status"], rows["Owners"]["error"]) == ("failed", TEAM_REASONS["owners"])
    everywhere = team_of(world, "all")
    assert (everywhere.includes_all_repositories, everywhere.can_create_org_repo) == (False, False)
    assert await granted(world) == {"crew": {"one"}, "all": {"one", "two"}}
    absent = {one["login"]: one["teams"] for one in (await root.get(f"{path}/absent_members")).json()}
    assert absent == {"cat": 1, "stranger": 2}


async def test_a_team_of_the_same_name_is_left_alone(world, root, people, teams):  # noqa: F811
    first = await bring(world, root, teams, people={"dog": "bob"})
    before = dict(world.identity.teams)
    again = await bring(world, root, teams, repositories=["three"], people={"dog": "bob", "stranger": "ann"})
    assert (await root.get(first)).json()["teams"] == {"done": 4, "failed": 2}
    rows = await listed(root, again)
    assert {one["error"] for one in rows.values()} == {
        TEAM_REASONS[name] for name in ("owners", "taken", "name")
    }
    assert world.identity.teams == before
    assert "three" not in (await granted(world))["all"]


async def test_a_repository_that_left_is_not_granted(world, root, people, teams):  # noqa: F811
    path = await wait_for_teams(world, root, teams)
    table = world.database.metadata.tables["repository"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().where(table.c.name == "one").values(owner_id=2))
    await work(world, 4)
    assert (await root.get(path)).json()["status"] == "done"
    assert await granted(world) == {"all": {"two"}}


async def test_an_address_that_is_only_claimed_gives_no_membership(world, root, people, teams):  # noqa: F811
    world.identity.claims.add("ann@example.org")
    path = await bring(world, root, teams, organization="fresh")
    assert world.identity.imported_members[team_of(world, "crew").id] == set()
    absent = {one["login"]: one["teams"] for one in (await root.get(f"{path}/absent_members")).json()}
    assert absent["cat"] == 2
    await bring(world, root, teams, organization="other", people={"cat": "ann"})
    crews = [one.id for one in world.identity.teams.values() if one.name == "crew"]
    assert [world.identity.imported_members[one] for one in crews] == [set(), {1}]


async def test_members_of_teams_read_a_repository_before_its_issues_come(
    world, root, bob, people, teams  # noqa: F811
):  # fmt: skip
    fields = {"organization": "fresh", "people": {"dog": "bob"}, "issues": True}
    path = await begin(root, teams, repositories=["one", "two"], teams=True, **fields)
    await work(world, 6)
    assert (await root.get(path)).json()["status"] == "running"
    crew = team_of(world, "crew").id
    assert world.identity.imported_members[crew] == {1, 2}
    assert await granted(world) == {"crew": {"one"}}
    ids = {row.name: row.id for row in await world.rows("repository")}
    events = [one for one in await world.events("access.changed") if one["repository_id"] == ids["one"]]
    assert [one["teams"] for one in events] == [[crew]]


@pytest.mark.parametrize("turns", range(0, 200, 40))
async def test_a_killed_import_grants_each_new_repository(world, root, people, teams, turns):  # noqa: F811
    path = await begin(root, teams, repositories=["one", "two"], teams=True)
    for _ in range(8):
        await kill_step(world, turns)
    await work(world, 8)
    assert (await root.get(path)).json()["status"] == "done"
    assert await granted(world) == {"crew": {"one"}, "all": {"one", "two"}}


@pytest.mark.parametrize("turns", range(0, 200, 20))
async def test_a_killed_import_brings_each_team_once(world, root, people, teams, turns):  # noqa: F811
    path = await wait_for_teams(world, root, teams, organization="fresh")
    for _ in range(4):
        await kill_step(world, turns)
    await work(world, 6)
    assert (await root.get(path)).json()["teams"] == {"done": 5, "failed": 1}
    assert sorted(team.name for team in world.identity.teams.values()) == sorted(
        one["name"] for one in TEAMS if one["name"] != "the crew"
    )
    absent = (await root.get(f"{path}/absent_members")).json()
    assert {one["login"]: one["teams"] for one in absent} == {"dog": 1, "stranger": 2}


async def test_no_team_comes_unless_the_form_asks_for_it(world, root, teams):  # noqa: F811
    path = await bring(world, root, teams, teams=False)
    assert ((await root.get(path)).json()["teams"], world.identity.teams) == ({}, {})


async def test_no_right_is_given_after_the_administrator_lost_his(world, root, people, teams):  # noqa: F811
    path = await wait_for_teams(world, root, teams)
    change_account(world, 1, admin=False)
    await work(world, 4)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == ("failed", REASONS["administrator"])
    assert world.identity.teams == {}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("cancellation", ("cancelled", REASON_TEXTS["cancelled"])),
        ("demotion", ("failed", REASONS["administrator"])),
    ],
)
async def test_no_team_comes_after_the_end_of_the_right_while_the_source_answers(
    world, root, people, teams, event, expected  # noqa: F811
):  # fmt: skip
    path = await wait_for_teams(world, root, teams, organization="fresh")

    async def answer(_method, target, _headers, _writer):
        parts = urlsplit(target)
        if parts.path.endswith("/members") and event == "demotion":
            change_account(world, 1, admin=False)
        elif parts.path.endswith("/members"):
            await root.call("DELETE", f"/api/v1{path}")
        return teams.page_of(parts)

    teams.api = answer
    await work(world, 4)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == expected
    assert world.identity.teams == {}
    assert await world.rows("team_grant") == []
    assert "done" not in state["teams"]


async def test_a_source_that_hides_its_teams_has_all_else(world, root, teams):  # noqa: F811
    del teams.lists["/api/v1/orgs/there/teams"]
    state = (await root.get(await bring(world, root, teams))).json()
    assert (state["status"], state["error"], state["teams"]) == ("done", REASONS["teams"], {})
    assert state["repositories"] == {"done": 2}


async def test_a_team_whose_members_are_hidden_does_not_come(world, root, people, teams):  # noqa: F811
    del teams.lists["/api/v1/teams/2/members"]
    rows = await listed(root, await bring(world, root, teams))
    assert (rows["crew"]["status"], rows["crew"]["error"]) == ("failed", TEAM_REASONS["source"])
    assert rows["all"]["status"] == "done"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("302 Found", "Location: http://10.0.0.1/"), REASON_TEXTS["address"]),
        (status("502 Bad Gateway"), REASON_TEXTS["unreachable"]),
    ],
)
async def test_a_source_that_fails_at_its_teams_ends_the_import(
    world, root, teams, answer, reason  # noqa: F811
):  # fmt: skip
    async def fail(_method, target, _headers, _writer):
        parts = urlsplit(target)
        return answer if parts.path.endswith("/teams") else teams.page_of(parts)

    teams.api = fail
    path = await bring(world, root, teams)
    await work(world, 11)
    state = (await root.get(path)).json()
    assert (state["status"], state["error"]) == ("failed", reason)


async def test_no_level_of_github_or_gitlab_is_raised(world, root, people, source):  # noqa: F811
    users = [{"id": 70, "login": "cat"}, {"id": 71, "login": "dog"}]
    admin, push = {"admin": True, "push": True}, {"push": True}
    source.lists = {
        "/api/v3/orgs/there/teams": [{"id": 9, "slug": "the-crew"}, {"id": 10, "slug": "boss"}],
        "/api/v3/orgs/there/members": users[:1],
        "/api/v3/orgs/there/teams/the-crew/members": users,
        "/api/v3/orgs/there/teams/boss/members": [],
        "/api/v3/orgs/there/teams/the-crew/repos": [
            {"name": "one", "permissions": admin}, {"name": "two", "permissions": push}
        ],
        "/api/v3/orgs/there/teams/boss/repos": [{"name": "one", "permissions": admin}],
        "/api/v4/groups/there/members": [
            {"id": 70, "username": "cat", "access_level": 30},
            {"id": 71, "username": "dog", "access_level": 25},
            {"id": 72, "username": "guest", "access_level": 10},
            {"id": 73, "username": "gone", "access_level": 40, "state": "blocked"},
            {"id": 74, "username": "late", "access_level": 40, "expires_at": "2030-01-01"},
        ],
    }  # fmt: skip
    fields = {"people": {"cat": "ann", "dog": "bob"}, "repositories": ["*"]}
    await bring(world, root, source, service="github", organization="fresh", **fields)
    crew = team_of(world, "the-crew")
    assert (crew.permission, set(crew.units_map.values())) == ("none", {"write"})
    assert (team_of(world, "boss").permission, world.identity.imported_members[crew.id]) == ("admin", {1, 2})
    assert await granted(world) == {"the-crew": {"one", "two"}, "boss": {"one"}}
    await bring(world, root, source, service="gitlab", organization="other", **fields)
    developers, reporters = team_of(world, "Developers"), team_of(world, "Reporters")
    assert (set(developers.units_map.values()), set(reporters.units_map.values())) == ({"write"}, {"read"})
    assert team_of(world, "Guests").units_map == {"repo.issues": "read"}
    assert "Maintainers" not in {team.name for team in world.identity.teams.values()}
    assert world.identity.imported_members[developers.id] == {1}


class Limited:
    """A ``Source.api`` that answers a few requests about users, and each of them once, before it is busy."""

    def __init__(self, there, most):
        self.source, self.most, self.left, self.requested = there, most, most, []

    async def __call__(self, _method, target, _headers, _writer):
        parts = urlsplit(target)
        if "/users/" not in parts.path:
            return self.source.page_of(parts)
        if not self.left:
            self.left = self.most
            return status("429 Too Many Requests", "Retry-After: 1")
        self.left -= 1
        self.requested.append(parts.path)
        return self.source.page_of(parts)


@pytest.mark.parametrize("service", ["github", "gitlab"])
async def test_a_source_with_a_limit_gives_each_address_once(
    world, root, people, source, service  # noqa: F811
):  # fmt: skip
    users = [{"id": 100 + n, "login": f"u{n}", "username": f"u{n}", "access_level": 30} for n in range(8)]
    source.lists = {
        "/api/v3/orgs/there/teams": [{"id": 9, "slug": "crew"}, {"id": 10, "slug": "cooks"}],
        "/api/v3/orgs/there/members": [],
        "/api/v4/groups/there/members": users,
        **{f"/api/v3/orgs/there/teams/{one}/members": users for one in ("crew", "cooks")},
        **{f"/api/v3/orgs/there/teams/{one}/repos": [] for one in ("crew", "cooks")},
    }
    source.api = limited = Limited(source, most=3)
    path = await bring(world, root, source, service=service, repositories=["nothing"])
    await work(world, 8)
    assert (await root.get(path)).json()["status"] == "done"
    names = {f"/api/v3/users/u{n}" if service == "github" else f"/api/v4/users/{100 + n}" for n in range(8)}
    assert sorted(limited.requested) == sorted(names)


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ("github", "/api/v3/orgs/there/teams/crew/members"),
        ("github", "/api/v3/orgs/there/teams/crew/repos"),
        ("gitlab", "/api/v4/groups/there/members"),
    ],
)
async def test_a_team_above_the_limit_ends_the_import(
    world, root, people, source, service, path, monkeypatch  # noqa: F811
):  # fmt: skip
    monkeypatch.setattr(organizations, "MOST_MEMBERS", 2)
    rows = [
        {"id": n, "login": f"u{n}", "username": f"u{n}", "access_level": 30, "name": f"r{n}"}
        for n in range(3)
    ]
    source.lists = {
        "/api/v3/orgs/there/teams": [{"id": 9, "slug": "crew"}],
        "/api/v3/orgs/there/members": [],
        "/api/v3/orgs/there/teams/crew/members": [],
        "/api/v3/orgs/there/teams/crew/repos": [],
        path: rows,
    }
    begun = await bring(world, root, source, service=service, repositories=["nothing"])
    state = (await root.get(begun)).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["too-many"])
    assert not [target for _, target, _ in source.requests if "/users/" in target]
    assert "crew" not in {team.name for team in world.identity.teams.values()}


async def test_many_people_who_did_not_join_are_counted_by_several_statements(
    world, root, source  # noqa: F811
):  # fmt: skip
    path = await begin(root, source)
    people = [(n, f"u{n}") for n in range(9_000)]
    for _ in range(2):
        async with world.database.transaction() as tx:
            await store.add_absent_members(tx, int(path.rpartition("/")[2]), people)
    rows = await world.rows("organization_import_absent_member")
    assert (len(rows), {row.teams for row in rows}) == (9_000, {2})


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_an_import_that_ended_forgets_its_tables_of_people(
    world, root, people, teams, is_cancelled  # noqa: F811
):  # fmt: skip
    table = {"people": {"dog": "bob"}}
    if is_cancelled:
        path = await begin(root, teams, repositories=["one"], teams=True, issues=True, **table)
        await work(world, 2)
        await root.call("DELETE", f"/api/v1{path}")
    else:
        await wait_for_teams(world, root, teams, **table)
        await work(world, 6)
    [row] = await world.rows("organization_import")
    assert row.state == ("cancelled" if is_cancelled else "done")
    assert '"people"' not in row.options
    assert "dog" not in row.options
    sources = await world.rows("import_source")
    assert {one.people for one in sources} == {"{}" if is_cancelled else '{"dog":2}'}
