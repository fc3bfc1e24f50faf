"""Lists and searches look at as many rows among many others as among few."""

import pytest
from sqlalchemy import text

from ingot_chassis.http.paging import Page
from ingot_issues.comments import store as comments
from ingot_issues.issues.store import lists as searches
from ingot_issues.issues.store.lists import ABSENCES, IssueFilter
from ingot_issues.notifications.store import threads as notifications
from ingot_issues.notifications.store.threads import NotificationStatus, ThreadFilter
from ingot_issues.pulls.store import rows as pulls
from ingot_issues.records.store import timeline
from ingot_issues.records.store.states import StateFilter
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.search import store as global_searches
from ingot_issues.search.store import PersonalFilter
from ingot_issues.times.store import tracked as times
from ingot_testing.service import analyze, page_costs, rows_of_pages, rows_touched

from .builders import APP

pytestmark = pytest.mark.both_databases

LARGE, SMALL, OTHERS = 7, 8, 1000
"""Repositories: one that grows, one that does not, and the first of those that come."""
FEW, MANY = 200, 4_000
OWN = 40
"""Issues and threads of the person who asks."""
IN_REPOSITORY = 20
"""Issues of each of the others."""

CONSTANT = 300
"""PostgreSQL reads a table of a few pages, such as that of the counters here, as a whole."""

ISSUES = """
    INSERT INTO issue
      (repository_id, number, is_pull, author_id, title, body, state, comments, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {last})
    SELECT {repository}, {number}, false, {author}, 'Straw ' || n, 'a needle in it', 'open', 1,
        '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00'
    FROM n
"""
HANGING = [
    """
    INSERT INTO comment (issue_id, repository_id, author_id, kind, body, created_at, updated_at)
    SELECT id, repository_id, 1, 0, 'one more needle', created_at, updated_at FROM issue WHERE id > {last_id}
    """,
    """
    INSERT INTO notification (account_id, repository_id, issue_id, status, updated_at)
    SELECT author_id, repository_id, id, 'unread', updated_at FROM issue WHERE id > {last_id}
    """,
    "DELETE FROM counter",
    """
    INSERT INTO counter (repository_id, last_number, open_issues, open_pulls, gone)
    SELECT repository_id, count(*), count(*), 0, false FROM issue GROUP BY repository_id
    """,
    "DELETE FROM repository",
    "INSERT INTO repository (id, owner_id, view) SELECT repository_id, 1, :view FROM counter",
]
VIEW = b"x" * 1_500
"""So many bytes are what a copy of a repository has: a table of two pages would be read as a whole."""


async def fill(db, *, first, last, own):
    """Issues of others from ``first`` to ``last``, in the large repository and in as many as are needed."""
    async with db.transaction() as tx:
        last_id = (await tx.execute(text("SELECT coalesce(max(id), 0) FROM issue"))).scalar_one()
        span = {"first": first, "last": last, "author": 2, "number": "n"}
        statements = [
            ISSUES.format(**span, repository=LARGE),
            ISSUES.format(**span, repository=f"{OTHERS} + n / {IN_REPOSITORY}"),
        ]
        if own:
            statements.append(ISSUES.format(first=1, last=OWN, author=3, repository=SMALL, number="n"))
        for statement in [*statements, *HANGING]:
            bound = {"view": VIEW} if ":view" in statement else {}
            await tx.execute(text(statement.format(last_id=last_id)), bound)
    if not db.is_sqlite:
        async with db.transaction() as tx:  # as VACUUM does in time
            names = "SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text LIKE '%trigrams%'"
            await tx.execute(
                text(f"SELECT gin_clean_pending_list(indexrelid::regclass) FROM ({names}) AS gin")
            )
            await tx.execute(text("ANALYZE"))


def page_of(repository_id, number=1, **filters):
    return lambda tx: searches.list_page(tx, repository_id, IssueFilter(**filters), Page(number, 20))


async def own_issues(tx):
    personal = PersonalFilter(account_id=3, created=True)
    rows = await global_searches.list_repositories(tx, 10_000, personal)
    repositories = global_searches.SearchedRepositories(rows, (), ())
    filters = IssueFilter(state=StateFilter.ALL)
    issues, total = await global_searches.list_page(tx, repositories, filters, personal, Page(1, 20))
    assert (len(issues), total) == (20, OWN)


async def own_threads(tx):
    statuses = [NotificationStatus.UNREAD]
    repositories = await notifications.list_repositories(tx, 3, statuses)
    filters = ThreadFilter(account_id=3, repository_ids=repositories, statuses=statuses)
    threads, total = await notifications.list_page(tx, filters, Page(1, 20))
    assert (len(threads), total) == (20, OWN)


async def text_in_one(tx):
    issues, total = await searches.list_page(tx, SMALL, IssueFilter(text="needle"), Page(1, 20))
    assert (len(issues), total) == (20, OWN)


LISTS = {
    "first page": lambda _: page_of(LARGE),
    "first page of all": lambda _: page_of(LARGE, state=StateFilter.ALL),
    "last page": lambda size: page_of(LARGE, size // 20),
    "oldest, last page": lambda size: page_of(LARGE, size // 20, sort="oldest"),
    "behind the end": lambda size: page_of(LARGE, size),
    "text in one repository": lambda _: text_in_one,
    "own issues": lambda _: own_issues,
    "own threads": lambda _: own_threads,
}


HANGING_ON_OTHERS = [
    "DELETE FROM issue_label",
    "DELETE FROM label",
    "INSERT INTO label (id, repository_id, name, color) VALUES (1, 7, 'bug', 'ff0000')",
    "INSERT INTO issue_label (issue_id, label_id) SELECT id, 1 FROM issue WHERE repository_id <> {own}",
    "DELETE FROM assignee",
    """
    INSERT INTO assignee (issue_id, account_id, position)
    SELECT id, 2, 0 FROM issue WHERE repository_id <> {own}
    """,
]


async def test_what_has_no_label_and_nobody_is_looked_for_in_its_repository_alone(world):
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill(world.db, first=first, last=last, own=first == 1)
        async with world.db.transaction() as tx:
            for statement in HANGING_ON_OTHERS:
                await tx.execute(text(statement.format(own=SMALL)))
        await analyze(world.db)
        for name in ABSENCES:
            listed = page_of(SMALL, without=[name])
            async with world.db.read() as db:
                issues, total = await listed(db)
            assert (len(issues), total) == (20, OWN), name
        touched.append([await rows_touched(world.db, page_of(SMALL, without=[name])) for name in ABSENCES])
    few, many = touched
    assert all(after <= 1.5 * before + CONSTANT for before, after in zip(few, many, strict=True)), touched


PULLS = """
    INSERT INTO pull
      (issue_id, base_branch, base_sha, head_repository_id, head_branch, head_sha, merge_base,
       mergeable, merged)
    SELECT id, 'main', '', repository_id, 'b' || number, '', '', true, false FROM issue
    WHERE repository_id >= {others}
"""


async def pulls_on_a_branch(tx):
    if tx.sqlite_driver is None:  # which would read so small a table as a whole
        await tx.execute(text("SET LOCAL enable_seqscan = off"))
    assert len(await pulls.list_open_on(tx, OTHERS, "main")) == IN_REPOSITORY - 1


async def test_a_push_looks_at_as_many_pull_requests_among_twenty_times_as_many(world):
    """All of them are into the branch of the same name, in repositories of their own."""
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        async with world.db.transaction() as tx:
            await tx.execute(text("DELETE FROM pull"))
        await fill(world.db, first=first, last=last, own=False)
        async with world.db.transaction() as tx:
            await tx.execute(text("UPDATE issue SET is_pull = true"))
            await tx.execute(text(PULLS.format(others=OTHERS)))
        if not world.db.is_sqlite:
            async with world.db.transaction() as tx:
                await tx.execute(text("ANALYZE"))
        touched.append(await rows_touched(world.db, pulls_on_a_branch))
    few, many = touched
    assert many <= 1.5 * few + CONSTANT


async def test_lists_look_at_as_many_rows_among_twenty_times_as_many(world):
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill(world.db, first=first, last=last, own=first == 1)
        touched.append({name: await rows_touched(world.db, read(last)) for name, read in LISTS.items()})
    few, many = touched
    grown = {name: (few[name], many[name]) for name in LISTS if many[name] > 1.5 * few[name] + CONSTANT}
    assert grown == {}


async def test_pages_from_the_end_go_on_where_those_from_the_beginning_end(world):
    await fill(world.db, first=1, last=1_200, own=False)
    for sort in searches.SORTS:
        await check_pages(world, sort, 1_200)


async def check_pages(world, sort, size):
    numbers = []
    async with world.db.read() as db:
        for number in range(1, size // 50 + 1):
            filters = IssueFilter(sort=sort)
            issues, total = await searches.list_page(db, LARGE, filters, Page(number, 50))
            assert (len(issues), total) == (50, size)
            numbers += [issue.number for issue in issues]
        assert await searches.list_page(db, LARGE, IssueFilter(sort=sort), Page(25, 50)) == ([], size)
        last, _ = await searches.list_page(db, LARGE, IssueFilter(sort=sort), Page(25, 49))
    assert sorted(numbers) == list(range(1, size + 1)), sort
    assert [issue.number for issue in last] == numbers[-24:], sort
    assert numbers in (sorted(numbers), sorted(numbers, reverse=True)), sort


COMMENTS = """
    INSERT INTO comment (issue_id, repository_id, author_id, kind, body, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {number})
    SELECT id, repository_id, 1, 0, 'hay', created_at, updated_at FROM issue, n
"""
BOUNDS = {
    "repository": {},
    "repository, without those of pull requests": {"pulls": False},
    "issue": {"issue_id": 1},
    "timeline": {},
}


async def comment_on_one_issue(world, number):
    await world.open_issue()
    async with world.db.transaction() as tx:
        await tx.execute(text(COMMENTS.format(number=number)))
    await analyze(world.db)


def comments_of(name, number, limit=20):
    page = Page(number, limit)
    if name == "timeline":
        return lambda tx: comments.list_timeline_page(tx, 1, page, visible=[])
    return lambda tx: comments.list_page(tx, APP, page, **BOUNDS[name])


async def test_the_last_page_of_comments_looks_at_as_many_rows_as_the_first(world):
    await comment_on_one_issue(world, MANY)
    for name in BOUNDS:
        first = await rows_touched(world.db, comments_of(name, 1))
        last = await rows_touched(world.db, comments_of(name, MANY // 20))
        assert last <= 1.2 * first + CONSTANT, name


async def test_a_reference_of_a_comment_is_found_without_the_timeline(world):
    reference = {"ref_repository_id": LARGE, "ref_issue_id": 1, "ref_comment_id": 1, "ref_sha": None}
    await comment_on_one_issue(world, MANY)
    touched = await rows_touched(
        world.db, lambda tx: timeline.has_reference(tx, 1, CommentKind.COMMENT_REFERENCE, reference)
    )
    assert touched < FEW


async def test_pages_of_comments_from_the_end_go_on_where_those_from_the_beginning_end(world):
    await comment_on_one_issue(world, 1_200)
    for name in BOUNDS:
        await check_pages_of_comments(world, name, 1_200)


async def check_pages_of_comments(world, name, size):
    ids = []
    async with world.db.read() as db:
        for number in range(1, size // 50 + 1):
            rows, total = await comments_of(name, number, 50)(db)
            assert (len(rows), total) == (50, size)
            ids += [row.id for row in rows]
        assert await comments_of(name, 25, 50)(db) == ([], size)
        last, _ = await comments_of(name, 25, 49)(db)
    assert ids == sorted(set(ids)), name
    assert [row.id for row in last] == ids[-24:], name


async def test_the_ids_of_a_very_long_timeline_are_the_latest_in_order(world):
    await comment_on_one_issue(world, comments.MOST_IDS + 10)
    async with world.db.read() as db:
        ids = await comments.list_timeline_ids(db, 1, visible=[])
        last, _ = await comments.list_timeline_page(db, 1, Page(1, 50), visible=[])
    assert (len(ids), ids) == (comments.MOST_IDS, sorted(ids))
    assert last[9].id < ids[0] == last[10].id


SHOWN = [NotificationStatus.UNREAD, NotificationStatus.PINNED]
THREADS = """
    INSERT INTO notification (account_id, repository_id, issue_id, status, updated_at)
    SELECT 4, repository_id, id, '{status}', updated_at FROM issue
    WHERE repository_id = {repository} AND number BETWEEN {first} AND {last} ORDER BY id
"""


def threads(statuses=SHOWN, **filters):
    """As a page of notifications is read."""

    async def list_page(tx, page):
        repositories = await notifications.list_repositories(tx, 4, statuses)
        threads_of_person = ThreadFilter(
            account_id=4, repository_ids=repositories, statuses=statuses, **filters
        )
        return await notifications.list_page(tx, threads_of_person, page)

    return list_page


async def notify(world, status, repository, first, last):
    async with world.db.transaction() as tx:
        values = {"status": status, "repository": repository, "first": first, "last": last}
        await tx.execute(text(THREADS.format(**values)))
    await analyze(world.db)


async def test_new_threads_cost_the_same_beside_twenty_times_as_many_that_are_read(world):
    await fill(world.db, first=1, last=MANY, own=True)
    async with world.db.transaction() as tx:
        await tx.execute(text("UPDATE notification SET status = 'read'"))
    await notify(world, "unread", SMALL, 1, OWN)
    costs = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await notify(world, "read", LARGE, first, last)
        costs.append(await page_costs(world.db, threads(), OWN))
    few, many = costs
    assert many.first <= 1.5 * few.first + CONSTANT
    assert many.last <= 1.5 * few.last + CONSTANT


@pytest.mark.parametrize(
    ("status", "statuses"), [("unread", SHOWN), ("read", list(NotificationStatus))], ids=["new", "all"]
)
async def test_threads_before_a_page_are_counted_without_their_issues(world, status, statuses):
    """The page in the middle walks along half of them more than the first one, for which all are counted."""
    await fill(world.db, first=1, last=MANY, own=False)
    await notify(world, status, LARGE, 1, MANY)
    listed = threads(statuses)
    costs = await page_costs(world.db, listed, MANY)
    assert costs.last <= 1.2 * costs.first + CONSTANT
    assert costs.middle <= 2.1 * costs.first + CONSTANT
    numbers = [row.number for row in await rows_of_pages(world.db, listed)]
    assert numbers == list(reversed(range(1, MANY + 1)))


async def test_threads_of_units_that_are_switched_off_are_not_counted(world):
    await fill(world.db, first=1, last=FEW, own=True)
    await notify(world, "unread", LARGE, 1, 5)
    await notify(world, "pinned", SMALL, 1, 2)
    switch_off = text(f"UPDATE repository SET has_issues = false WHERE id = {LARGE}")
    turn = text(f"UPDATE issue SET is_pull = true WHERE repository_id = {LARGE} AND number = 3")
    async with world.db.transaction() as tx:
        for statement in (switch_off, turn):
            await tx.execute(statement)
        rows, total = await threads()(tx, Page(1, 20))
    assert ({row.repository_id for row in rows}, len(rows), total) == ({LARGE, SMALL}, 3, 3)


TIMES = """
    INSERT INTO tracked_time (issue_id, repository_id, account_id, seconds, created_at)
    SELECT issue.id, repository_id, account, 60, created_at FROM issue
    CROSS JOIN (SELECT 2 AS account UNION ALL SELECT 3) AS accounts
"""
TIMES_OF = {
    "repository": {"repository_id": LARGE, "account_id": 2},
    "person": {"account_id": 3, "within": [LARGE, *range(OTHERS, OTHERS + MANY)]},
    "all of a repository": {"repository_id": LARGE},
}


async def test_times_before_a_page_are_counted_by_an_index(world):
    """The page in the middle walks along half of them more than the first one, for which all are counted."""
    await fill(world.db, first=1, last=MANY, own=False)
    async with world.db.transaction() as tx:
        await tx.execute(text(TIMES))
    await analyze(world.db)
    for name in TIMES_OF:
        await check_pages_of_times(world, name, MANY if name == "repository" else 2 * MANY)


async def check_pages_of_times(world, name, total):
    def listed(tx, page):
        return times.list_page(tx, page, **TIMES_OF[name])

    costs = await page_costs(world.db, listed, total)
    assert costs.last <= 1.2 * costs.first + CONSTANT, name
    assert costs.middle <= 2.1 * costs.first + CONSTANT, name
    ids = [row.id for row in await rows_of_pages(world.db, listed)]
    assert ids == sorted(set(ids)), name
