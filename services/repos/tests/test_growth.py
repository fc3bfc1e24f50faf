"""Lists and searches look at as many rows among many other repositories as among few."""

import pytest
from sqlalchemy import text

from ingot_chassis.http.paging import Page
from ingot_repos.catalog.store import lists as repository_lists
from ingot_repos.catalog.store.counts import recount
from ingot_repos.catalog.store.viewers import Viewer
from ingot_repos.commits.store import statuses
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.releases import ReleaseFilter
from ingot_repos.repositories.store.search import Search, search
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import STARS, WATCHES
from ingot_testing.service import analyze, page_costs, rows_of_pages, rows_touched

pytestmark = pytest.mark.both_databases

FEW, MANY = 200, 4_000
OWN, PAGE = 10, 5
"""Repositories of each of the two accounts that are listed, and of a page."""
CONSTANT = 300
"""PostgreSQL reads a table of a few pages as a whole."""
MORE = ", and more" * 20
"""Rows are as wide as those of people: a narrow table is read as a whole sooner."""
ANN, ACME, OTHERS = 1, 2, 1000
FILL = [
    """
    INSERT INTO account (id, kind, login, lower_login, full_name, email, avatar_url, visibility, active)
    WITH RECURSIVE n(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {last})
    SELECT {owner} + n, 'user', 'u' || n, 'u' || n, '', '', '', 'public', true FROM n WHERE true
    ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO repository (owner_id, name, lower_name, description, website, private, empty, archived,
        mirror, default_branch, fork_of, size, stars_count, forks_count, watchers_count, open_issues_count,
        state, shard, ref_version, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {last})
    SELECT {owner} + n * {spread}, '{word}-' || n, '{word}-' || n, 'holds a {word}{more}', '{more}',
        false, true, false, false, 'master', NULL, n, n % 7, 0, 0, 0, 'ready', 'shard-0', 0,
        '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00'
    FROM n
    """,
    """
    INSERT INTO topic (name, created_at, updated_at)
    SELECT lower_name, created_at, updated_at FROM repository WHERE id > {last_id}
    ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO repository_topic (repository_id, topic_id)
    SELECT repository.id, topic.id FROM repository JOIN topic ON topic.name = lower_name
    WHERE repository.id > {last_id}
    """,
]


async def fill(db, **values):
    async with db.transaction() as tx:
        last_id = (await tx.execute(text("SELECT coalesce(max(id), 0) FROM repository"))).scalar_one()
        for statement in FILL:
            await tx.execute(text(statement.format(last_id=last_id, more=MORE, **values)))


async def settle(db):
    """As the hourly count and VACUUM do."""
    async with db.transaction() as tx:
        await recount(tx)
    if not db.is_sqlite:
        async with db.transaction() as tx:
            names = "SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text LIKE '%trigrams%'"
            await tx.execute(
                text(f"SELECT gin_clean_pending_list(indexrelid::regclass) FROM ({names}) AS gin")
            )
            await tx.execute(text("ANALYZE"))


def owned_by(viewer, owner_id):
    return lambda tx: repository_lists.list_owned(tx, viewer, owner_id, Page(1, PAGE))


def page_of(viewer, number=1, **query):
    return lambda tx: search(tx, viewer, Search(**query), Page(number, PAGE))


VIEWERS = {"ann": Viewer(id=ANN), "nobody": Viewer()}
SEARCHES = {
    "all": {},
    "by update": {"sort": "updated", "descending": True},
    "a word": {"text": "needle"},
    "no word": {"text": "zebra"},
    "a description": {"text": "needle", "descriptions": True},
    "a topic": {"text": "needle-7", "only_topics": True},
}


def reads(size):
    """Reads by name, while others have very many repositories."""
    lists = {}
    for name, viewer in VIEWERS.items():
        lists |= {f"{name}: {of}": page_of(viewer, **query) for of, query in SEARCHES.items()}
        lists |= {
            f"{name}: repositories of ann": owned_by(viewer, ANN),
            f"{name}: repositories of acme": owned_by(viewer, ACME),
            f"{name}: last page of all": page_of(viewer, number=(size + 2 * OWN) // PAGE),
            f"{name}: last page by update": page_of(
                viewer, number=(size + 2 * OWN) // PAGE, **SEARCHES["by update"]
            ),
            f"{name}: behind the end": page_of(viewer, number=size),
        }
    return lists | {
        "own": lambda tx: repository_lists.list_accessible(tx, VIEWERS["ann"], Page(1, PAGE)),
    }


async def test_lists_look_at_as_many_rows_among_twenty_times_as_many(world):
    for owner in (ANN, ACME):
        await fill(world.database, first=1, last=OWN, owner=owner, spread=0, word="needle")
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill(world.database, first=first, last=last, owner=OTHERS, spread=1, word="straw")
        await settle(world.database)
        touched.append({name: await rows_touched(world.database, read) for name, read in reads(last).items()})
    few, many = touched
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.5 * few[name] + CONSTANT}
    assert grown == {}


@pytest.mark.parametrize("viewer", sorted(VIEWERS))
async def test_pages_from_the_end_go_on_where_those_from_the_beginning_end(world, viewer):
    await fill(world.database, first=1, last=95, owner=OTHERS, spread=1, word="straw")
    for query in ({}, {"text": "straw"}, {"sort": "stars", "descending": True}, {"sort": "size"}):
        ids = []
        async with world.database.read() as db:
            for number in range(1, 8):
                rows, total = await search(db, VIEWERS[viewer], Search(**query), Page(number, 20))
                assert total == 95
                ids += [row.id for row in rows]
            rows, _ = await search(db, VIEWERS[viewer], Search(**query), Page(1, 95))
        assert ids == [row.id for row in rows], query


LARGE = 1
"""The repository whose lists grow: the first one."""
OF_REPOSITORY = [
    """
    INSERT INTO star (repository_id, user_id, created_at) SELECT {large}, id, '2026-01-01 00:00:00+00'
    FROM account WHERE id BETWEEN {others} + {first} AND {others} + {last} AND id % 4 < 2
    """,
    """
    INSERT INTO star (repository_id, user_id, created_at) SELECT {large}, id, '2026-01-02 00:00:00+00'
    FROM account WHERE id BETWEEN {others} + {first} AND {others} + {last} AND id % 4 >= 2
    """,
    # And five other repositories.
    """
    INSERT INTO star (repository_id, user_id, created_at)
    SELECT repository.id, account.id, '2026-01-01 00:00:00+00'
    FROM account CROSS JOIN repository
    WHERE account.id BETWEEN {others} + {first} AND {others} + {last} AND repository.id BETWEEN 2 AND 6
    """,
    """
    INSERT INTO watch (repository_id, user_id, created_at)
    SELECT repository_id, user_id, created_at FROM star
    WHERE user_id BETWEEN {others} + {first} AND {others} + {last}
    """,
    """
    UPDATE repository SET stars_count = (SELECT count(*) FROM star WHERE repository_id = {large}),
        watchers_count = (SELECT count(*) FROM watch WHERE repository_id = {large}) WHERE id = {large}
    """,
    """
    INSERT INTO commit_status (repository_id, sha, number, state, target_url, description, context,
    creator_id, created_at)
    SELECT {large}, '{sha}', id - {others}, 'success', '{more}', '{more}', 'c', id, '2026-01-01 00:00:00+00'
    FROM account WHERE id BETWEEN {others} + {first} AND {others} + {last}
    """,
    """
    INSERT INTO release (repository_id, tag_name, lower_tag_name, target_commitish, name, body, draft,
        prerelease, author_id,
        created_at)
    SELECT {large}, prefix || id, prefix || id, '', '{more}', '{more}', prefix = 'draft', false, id,
    '2026-01-01 00:00:00+00'
    FROM account CROSS JOIN (SELECT 'draft' AS prefix UNION ALL SELECT 'v') AS prefixes
    WHERE id BETWEEN {others} + {first} AND {others} + {last} AND (prefix = 'v' OR id % 50 = 0)
    """,
]
SHA = 40 * "a"


async def fill_lists(db, first, last):
    """Create actions of very many accounts on one repository."""
    await fill(db, first=first, last=last, owner=OTHERS, spread=1, word=f"of-{first}")
    async with db.transaction() as tx:
        for statement in OF_REPOSITORY:
            values = {
                "large": LARGE,
                "others": OTHERS,
                "first": first,
                "last": last,
                "sha": SHA,
                "more": MORE,
            }
            await tx.execute(text(statement.format(**values)))
    await analyze(db)


def users_who(relation):
    return lambda tx, page: stars_and_watches.list_users(tx, relation, LARGE, page)


def statuses_of_commit(*, oldest_first=False):
    return lambda tx, page: statuses.list_page(tx, LARGE, SHA, page, state=None, oldest_first=oldest_first)


def published(tx, page):
    return releases.list_page(tx, LARGE, ReleaseFilter(), page)


RELATIONS = {"stars": users_who(STARS), "watches": users_who(WATCHES)}


async def test_a_page_of_users_looks_at_as_many_rows_among_twenty_times_as_many(world):
    """All but one in the middle, which takes a walk along half of an index."""
    costs = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill_lists(world.database, first, last)
        costs.append(
            {name: await page_costs(world.database, users, last) for name, users in RELATIONS.items()}
        )
    for name, users in RELATIONS.items():
        few, many = (cost[name] for cost in costs)
        assert many.first <= 1.5 * few.first + CONSTANT, name
        assert many.last <= 1.5 * few.last + CONSTANT, name
        assert many.middle <= few.middle + 4 * MANY / 2 + CONSTANT, name
        rows = await rows_of_pages(world.database, users)
        ids = sorted(range(OTHERS + 1, OTHERS + MANY + 1), key=lambda id_: (id_ % 4 >= 2, id_))
        assert [row.id for row in rows] == ids, name


COUNTED_LISTS = {
    "statuses": statuses_of_commit(),
    "oldest statuses": statuses_of_commit(oldest_first=True),
    "releases": published,
}


async def test_what_is_before_a_page_is_counted_by_an_index(world):
    """The middle page walks along half of the index. The first page walks along none, but counts all rows."""
    await fill_lists(world.database, 1, MANY)
    for name, listed in COUNTED_LISTS.items():
        costs = await page_costs(world.database, listed, MANY)
        assert costs.last <= 1.2 * costs.first + CONSTANT, name
        assert costs.middle <= 2.1 * costs.first + CONSTANT, name
        ids = [row.id for row in await rows_of_pages(world.database, listed)]
        assert ids == sorted(set(ids), reverse=name != "oldest statuses"), name
