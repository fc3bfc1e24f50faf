"""The search over repositories: who sees what, in which order, and at a hundred thousand of them."""

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from ingot_chassis.db.migrations import pending, upgrade
from ingot_chassis.http.paging import Page
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store.tables import metadata
from ingot_repos.catalog.store.viewers import Viewer
from ingot_repos.migrations import SCRIPTS
from ingot_repos.repositories.store.search import Search, list_of, search
from ingot_testing.roles import without_extensions
from ingot_testing.service import count_statements, rows_touched

pytestmark = pytest.mark.both_databases

MANY = 100_000
FILL = f"""
    INSERT INTO repository (owner_id, name, lower_name, description, website, private, empty, archived,
        mirror, default_branch, fork_of, size, stars_count, forks_count, watchers_count, open_issues_count,
        state, shard, ref_version, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {MANY})
    SELECT 1000 + n % 50, CASE WHEN n % 1000 = 0 THEN 'Needle-' ELSE 'straw-' END || n,
        CASE WHEN n % 1000 = 0 THEN 'needle-' ELSE 'straw-' END || n, '', '', n % 4000 = 0, true, false,
        false, 'master', NULL, n, n % 7, 0, 0, 0, 'ready', 'shard-0', 0,
        '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00'
    FROM n
"""


@pytest.fixture
async def filled(world):
    """Add 100,000 repositories of fifty users. Every thousandth is a needle, a fourth of these private."""
    accounts = metadata.tables["account"]
    async with world.database.transaction() as tx:
        await tx.execute(
            accounts.insert(),
            [
                {"id": 1000 + n, "kind": "user", "login": f"user{n}", "lower_login": f"user{n}"}
                for n in range(50)
            ],
        )
        await tx.execute(text(FILL))
    async with world.database.read() as db:
        await db.execute(text("ANALYZE"))
    return world


async def matches(person, query, *, key="name"):
    answer = await person.get(f"/repos/search?{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["ok"] is True
    return [repository[key] for repository in answer.json()["data"]]


async def test_a_hundred_thousand_are_searched_right(filled, ann):
    with count_statements(filled.database) as statements:
        answer = await ann.get("/repos/search?q=NEEDLE&limit=5&page=2")
    assert len(statements) == 1
    assert answer.headers["x-total-count"] == "75"
    public = sorted(f"needle-{n}" for n in range(1000, MANY + 1, 1000) if n % 4000)
    assert [one["name"].lower() for one in answer.json()["data"]] == public[5:10]
    root = ann.but(admin=True)
    assert (await root.get("/repos/search?q=needle")).headers["x-total-count"] == "100"
    assert (await ann.get("/repos/search")).headers["x-total-count"] == str(MANY - 25)
    last = await ann.get("/repos/search?q=straw&sort=size&order=desc&limit=1")
    assert [one["name"] for one in last.json()["data"]] == [f"straw-{MANY - 1}"]
    assert (await ann.get("/repos/search?q=needle&page=1000000")).json() == {"ok": True, "data": []}


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_postgresql_looks_names_up_by_their_trigrams(filled):
    """Even under a plan that was made without knowing what is looked for."""
    async with filled.database.read() as db:
        extensions = await db.execute(text("SELECT extname FROM pg_extension"))
    if "pg_trgm" not in extensions.scalars().all():
        pytest.skip("this PostgreSQL comes without pg_trgm")

    async def look(tx):
        await tx.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        _, total = await search(tx, Viewer(id=1), Search(text="needle"), Page(1, 30))
        assert total == 75

    assert await rows_touched(filled.database, look) < MANY / 50


def test_searches_of_one_shape_share_their_statements():
    def statements(**query):
        return list_of(Search(**query))

    assert statements(text="a needle", owner=1) is statements(text="b straws", owner=2)
    assert statements(text="a needle") is not statements(text="needle")
    assert statements(text="needle") is not statements(text="nädel")


@pytest.fixture
async def shelf(world, ann, bob):
    """Repositories of two users: one private, one shared, one fork; and two of organizations that bob has
    access to."""
    await ann.create("alpha", description="x")
    await ann.create("alphabet", private=True)
    await ann.create("shared", private=True)
    await ann.call("PUT", "/api/v1/repos/ann/shared/collaborators/bob", {})
    await bob.create("beta_1")
    await bob.create("beta-1")
    fork = (await bob.post("/repos/ann/alpha/forks")).json()
    root = ann.but(admin=True)
    for id_, name, is_public in ((9, "shown", True), (10, "hidden", False)):
        world.organization(id_, name)
        world.identity.join(2, id_, teams={50 + id_: "read"}, public=is_public)
        creation = (await root.post(f"/admin/users/{name}/repos", {"name": f"of-{name}"})).json()
        async with world.database.transaction() as tx:
            await collaborations.grant(tx, creation["id"], 50 + id_)
    return fork


MATCHES = [
    ("q=ALPHA", ["ann/alpha", "bob/alpha"]),
    ("q=%20alpha%20", ["ann/alpha", "bob/alpha"]),
    ("q=_", ["bob/beta_1"]),
    ("q=%25", []),
    ("q=a%5C", []),
    ("q='%3B--", []),
    ("q=beta&order=desc", ["bob/beta-1", "bob/beta_1"]),
    ("q=beta&sort=alpha&order=desc", ["bob/beta_1", "bob/beta-1"]),
    ("q=beta&sort=id", ["bob/beta_1", "bob/beta-1"]),
    ("q=beta&sort=created&order=desc", ["bob/beta-1", "bob/beta_1"]),
    ("mode=fork", ["bob/alpha"]),
    ("mode=mirror", []),
    ("mode=source&q=alpha", ["ann/alpha"]),
    ("uid=1", ["ann/alpha"]),
    ("uid=2&exclusive=true", ["bob/alpha", "bob/beta-1", "bob/beta_1"]),
    ("uid=2&mode=collaborative&exclusive=true", ["shown/of-shown"]),
    ("uid=2&mode=source", ["bob/beta-1", "bob/beta_1", "shown/of-shown"]),
    ("uid=9", ["shown/of-shown"]),
    ("uid=77", []),
    ("uid=9223372036854775807", []),
]


async def test_a_search_of_somebody_else(world, shelf):
    carl = world.user(3, "carl")
    for query, names in MATCHES:
        assert (query, await matches(carl, query, key="full_name")) == (query, names)


async def test_ones_own_search_has_what_one_can_reach(world, shelf, ann, bob):
    assert await matches(ann, "uid=1") == ["alpha", "alphabet", "shared"]
    assert await matches(ann, "q=alphabet") == ["alphabet"]
    here = bob.but(organizations=world.identity.memberships[2])
    assert await matches(here, "uid=2&mode=collaborative") == ["of-hidden", "of-shown", "shared"]
    assert await matches(bob, "uid=1&exclusive=true") == ["alpha", "shared"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_by_relevance_the_name_counts_most_and_then_stars(ann, bob):
    for name in ("the-forge", "forge-tools", "forge", "anvil", "reforged", "kiln"):
        await ann.create(name)
    for name in ("anvil", "kiln"):
        await ann.call("PUT", f"/api/v1/repos/ann/{name}/topics/forge")
    for name in ("the-forge", "kiln"):
        await bob.call("PUT", f"/api/v1/user/starred/ann/{name}")
    in_order = ["forge", "forge-tools", "the-forge", "reforged", "kiln", "anvil"]
    assert await matches(bob, "q=Forge&sort=relevance") == in_order
    assert await matches(bob, "q=Forge") == sorted(in_order)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_each_word_is_in_the_name_a_topic_or_the_description(ann):
    await ann.create("demo-app", description="a small server")
    await ann.create("demo-tool")
    await ann.call("PUT", "/api/v1/repos/ann/demo-tool/topics/server")
    for query, names in {
        "server demo": ["demo-tool"],
        "app%20%20demo": ["demo-app"],
        "small demo&includeDesc=true": ["demo-app"],
        "demo other": [],
        " ".join(["demo"] * 30): [],
    }.items():
        assert await matches(ann, f"q={query}") == names, query


NARROWED = {
    "q=speed": ["ann/alpha", "bob/beta-1"],
    "q=pee&topic=true": [],
    "q=SPEED&topic=true": ["ann/alpha", "bob/beta-1"],
    "q=toolkit": [],
    "q=ToolKit&includeDesc=true": ["ann/alphabet"],
    "q=toolkit&includeDesc=true&private=false": [],
    "is_private=true": ["ann/alphabet"],
    "is_private=false&q=alpha": ["ann/alpha", "bob/alpha"],
    "template=true": ["bob/beta_1"],
    "archived=true": ["bob/beta_1"],
    "archived=false&q=beta": ["bob/beta-1"],
    "priority_owner_id=2&mode=source&q=a": ["bob/beta-1", "bob/beta_1", "ann/alpha", "ann/alphabet"],
    "starredBy=1": ["ann/alphabet", "bob/beta-1"],
    "starredBy=2": ["ann/alpha"],
    "team_id=60": [],
    "team_id=77": [],
}


async def test_a_search_is_narrowed(world, ann, bob):
    await ann.create("alpha")
    await ann.create("alphabet", private=True, description="a Toolkit")
    await bob.create("beta_1", template=True)
    await bob.create("beta-1")
    await bob.post("/repos/ann/alpha/forks")
    await bob.call("PATCH", "/api/v1/repos/bob/beta_1", {"archived": True})
    await ann.call("PUT", "/api/v1/repos/ann/alphabet/collaborators/bob", {})
    for person, name in ((ann, "ann/alpha"), (bob, "bob/beta-1")):
        await person.call("PUT", f"/api/v1/repos/{name}/topics/speed")
    for person, name in (
        (ann, "ann/alphabet"),
        (ann, "bob/beta-1"),
        (bob, "ann/alphabet"),
        (bob, "ann/alpha"),
    ):
        await person.call("PUT", f"/api/v1/user/starred/{name}")
    world.organization(9, "acme")
    world.identity.add_team(60, 9)
    for query, names in NARROWED.items():
        with world.count_statements() as statements:
            assert await matches(ann, query, key="full_name") == names, query
        assert len(statements) <= 4


async def test_repositories_of_a_team_are_for_members_of_its_organization(world, bob):
    world.organization(9, "acme")
    world.identity.add_team(60, 9)
    world.identity.join(2, 9, teams={60: "read"})
    creation = (await bob.but(admin=True).post("/admin/users/acme/repos", {"name": "app"})).json()
    async with world.database.transaction() as tx:
        await collaborations.grant(tx, creation["id"], 60)
    assert await matches(bob, "team_id=60") == ["app"]
    assert await matches(world.user(3, "carl"), "team_id=60") == []


async def test_pages_of_a_search_are_linked(shelf, ann):
    answer = await ann.get("/repos/search?q=a&limit=2&page=2&sort=id")
    assert answer.headers["x-total-count"] == "6"
    assert "q=a" in answer.headers["link"]
    assert "sort=id" in answer.headers["link"]
    pages = [await matches(ann, f"q=a&limit=3&page={page}&sort=id", key="id") for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [3, 3, 0]
    every = [id_ for page in pages for id_ in page]
    assert every == sorted(every)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("mode=odd", 422, "mode"),
        ("sort=odd", 422, "sort"),
        ("sort=id;drop", 422, "sort"),
        ("sort=alpha&order=sideways", 422, "order"),
        ("uid=-1", 422, "uid"),
        ("starredBy=-1", 422, "starredBy"),
        ("team_id=9223372036854775808", 422, "team_id"),
        ("topic=perhaps", 422, "topic"),
        ("uid=9223372036854775808", 422, "uid"),
        ("uid=x", 422, "uid"),
        ("exclusive=perhaps", 422, "exclusive"),
    ],
)
async def test_what_cannot_be_searched_is_named(ann, query, status, field):
    answer = await ann.get(f"/repos/search?{query}")
    assert answer.status_code == status, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "page=0", "page=-1"])
async def test_an_odd_page_is_the_first_one(shelf, ann, query):
    assert len(await matches(ann, query)) == 8


async def test_a_page_holds_at_most_fifty(filled, ann):
    assert len(await matches(ann, "limit=1000")) == 50


async def test_what_changes_is_found_by_its_new_words_alone(world, ann):
    await ann.create("needle", description='Says "STRAW", 100%_sure')
    await ann.create("other")
    await ann.call("PUT", "/api/v1/repos/ann/other/topics/barn")
    for query, expected in {
        "q=NEED": ["needle"],
        "q=straw": [],
        "q=straw&includeDesc=true": ["needle"],
        'q="straw&includeDesc=true': ["needle"],
        "q=100%25_s&includeDesc=true": ["needle"],
        "q=%C3%A4%C3%9F%C3%A4": [],
        "q=arn": ["other"],
        "q=rn": ["other"],
    }.items():
        assert await matches(ann, query) == expected, query
    await ann.call("PATCH", "/api/v1/repos/ann/needle", {"name": "thread", "description": "hay"})
    await ann.call("DELETE", "/api/v1/repos/ann/other/topics/barn")
    queries = ("q=need", "q=thread", "q=straw&includeDesc=true", "q=hay&includeDesc=true", "q=barn")
    assert [await matches(ann, query) for query in queries] == [[], ["thread"], [], ["thread"], []]
    assert (await ann.call("DELETE", "/api/v1/repos/ann/thread")).status_code == 204
    assert await matches(ann, "q=thread") == []
    if world.database.is_sqlite:
        async with world.database.transaction() as tx:
            for table in ("repository_trigrams", "topic_trigrams"):  # fails where rows and index differ
                await tx.execute(text(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')"))


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_database_without_trigrams_is_migrated_all_the_same(database_url):
    """As a role that may not create extensions."""
    async with without_extensions(database_url) as url:
        with capture_logs() as lines:
            await upgrade(url, SCRIPTS)
        warnings = [line["statements"][0] for line in lines if line["log_level"] == "warning"]
        assert warnings == ["CREATE EXTENSION IF NOT EXISTS pg_trgm"] * 2
        assert not await pending(url, SCRIPTS)


@pytest.mark.parametrize("query", ["page=x", "limit=1.5", "page=1e3"])
async def test_a_page_of_a_search_is_a_whole_number(ann, query):
    refused = await ann.get(f"/repos/search?{query}")
    assert (refused.status_code, query.partition("=")[0] in refused.json()["message"]) == (422, True)
    assert (await ann.get("/repos/search?page=&limit=")).status_code == 200
