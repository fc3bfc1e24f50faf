"""The search of issues by text: what it finds, and how many rows it looks at."""

import asyncio
import json
from urllib.parse import quote

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from structlog.testing import capture_logs

from ingot_chassis.db.migrations import pending, upgrade
from ingot_issues.accounts import store as accounts
from ingot_issues.migrations import SCRIPTS
from ingot_issues.records.store.texts import FEW
from ingot_issues.repositories.store import copies as repositories
from ingot_testing.roles import without_extensions
from ingot_testing.service import count_statements

from ..builders import AFTER_0030, APP, account, repository

pytestmark = pytest.mark.both_databases

SEARCH = "//repos/issues/search"


async def numbers(world, path):
    answer = await world.call("GET", path)
    assert answer.status_code == 200, answer.text
    listed = [issue["number"] for issue in answer.json()]
    assert answer.headers["x-total-count"] == str(len(listed)), path
    return listed


async def test_a_text_is_found_in_title_body_and_comments(world):
    await world.open_issue("It burns", body="100%_sure: it's $1 \\ ÄRGER")
    await world.open_issue("second")
    await world.create("/issues/2/comments", {"body": "me too, it Burns"})
    await world.open_issue("third")
    await world.create("/issues/3/comments", {"body": "nothing"})
    await world.call("PATCH", "/issues/3", {"title": "burns no more"})
    await world.call(
        "PATCH", "/issues/3", {"title": "third"}
    )  # the timeline has the title, but as no person's comment
    for query, expected in {
        "q=BURNS": [2, 1],
        "q=burns&type=issues&sort=oldest": [1, 2],
        "q=%25_s": [1],
        "q=%25s": [],
        "q=it%27s%20%241%20%5C": [1],
        "q=%C3%A4rger": [1],
        "q=:x": [],
        "q=th": [3],
    }.items():
        assert await numbers(world, f"/issues?{query}") == expected, query
    assert await numbers(world, f"{SEARCH}?q=BURNS") == [2, 1]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_words_are_found_in_any_order_and_quotes_as_they_are(world):
    await world.open_issue("The server burns", body="since the last update")
    await world.open_issue("second", body="a server")
    await world.create("/issues/2/comments", {"body": "it burns after an update"})
    await world.open_issue("burns", body="no word of the other")
    for query, expected in {
        "update server": [2, 1],
        '"server burns"': [1],
        '"last update" server': [1],
        'say "server': [],
        '""': [],
        " ".join(["server"] * 30): [],
    }.items():
        assert await numbers(world, f"/issues?q={quote(query)}") == expected, query
        assert await numbers(world, f"{SEARCH}?q={quote(query)}") == expected, query


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_by_relevance_titles_come_first(world):
    for title, body in (
        ("Old fire alarm", ""),
        ("second", "fire alarm"),
        ("alarm", "fire"),
        ("alarm of fire", ""),
    ):
        await world.open_issue(title, body=body)
    for path in ("/issues", SEARCH):
        assert await numbers(world, f"{path}?q=fire%20alarm&sort=relevance") == [4, 1, 3, 2]
        assert await numbers(world, f"{path}?q=fire%20alarm") == [4, 3, 2, 1]


MANY = 3_000
FILL = f"""
    INSERT INTO issue
      (repository_id, number, is_pull, author_id, title, body, state, comments, created_at, updated_at)
    SELECT {APP} + n % 2, n, false, 1, 'Straw ' || n,
        CASE WHEN n % 1000 = 4 THEN 'a needle' ELSE 'nothing but straw, and more of it' END, 'open', 1,
        '2026-01-01', '2026-01-01'
    FROM generate_series(1, {MANY}) AS n;
    INSERT INTO comment (issue_id, repository_id, author_id, kind, body, created_at, updated_at)
    SELECT id, repository_id, 1, 0, CASE WHEN number % 1000 = 8 THEN 'Needle!' ELSE 'straw' END,
      created_at, updated_at
    FROM issue;
    INSERT INTO counter (repository_id, last_number, open_issues, open_pulls, gone)
    SELECT {APP} + n, {MANY}, {MANY} / 2, 0, false FROM generate_series(0, 1) AS n;
"""


def rows_of(plan):
    """The rows that the scans of a plan looked at."""
    rows = sum(rows_of(child) for child in plan.get("Plans", []))
    if "Relation Name" in plan:
        rejected = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
        rows += (plan["Actual Rows"] + rejected) * plan["Actual Loops"]
    return rows


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_postgresql_looks_at_few_rows_for_a_rare_word(world):
    async with world.db.transaction() as tx:
        for one in range(2):
            copy = repository(APP + one, name=f"app{one}" if one else "app")
            world.repos.add(copy)
            await repositories.save(tx, copy)
        await accounts.save(tx, account(1))
        for statement in FILL.strip().split(";\n"):
            await tx.execute(text(statement.rstrip(";")))
    async with world.db.transaction() as tx:
        extensions = (await tx.execute(text("SELECT extname FROM pg_extension"))).scalars().all()
        if "pg_trgm" not in extensions:
            pytest.skip("this PostgreSQL comes without pg_trgm")
        for index in ("title", "body", "comment"):  # as VACUUM does in time
            await tx.execute(text(f"SELECT gin_clean_pending_list('ix_{index}_trigrams_of_repository')"))
        await tx.execute(text("ANALYZE"))
    for path in ("/issues?q=needle", f"{SEARCH}?q=needle", f"{SEARCH}?q=zebra"):
        with count_statements(world.db) as statements:
            listed = (await world.call("GET", path)).json()
        assert len(listed) == (0 if "zebra" in path else 6), path
        rows = 0
        async with world.db.reading.connect() as connection:
            for statement, parameters in statements:
                plan = await connection.exec_driver_sql(
                    f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", tuple(parameters)
                )
                [shown] = plan.scalars().all()
                shown = json.loads(shown) if isinstance(shown, str) else shown
                rows += rows_of(shown[0]["Plan"])
        assert rows < MANY / 10, path


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_sqlite_looks_up_the_rows_that_have_the_trigrams_of_a_text(world):
    await world.open_issue("It burns", body='say "needle", 100%_sure')
    await world.open_issue("second")
    await world.create("/issues/2/comments", {"body": "a NEEDLE in the hay"})
    await world.create("/issues/2/comments", {"body": "one more needle"})
    async with world.db.transaction() as tx:
        await tx.execute(text(f"UPDATE counter SET last_number = {FEW + 1}"))  # as if it had many
    for text_, expected in {
        "needle": [2, 1],
        '"needle': [1],
        "100%_SURE": [1],
        "ay": [2, 1],
        "zebra": [],
    }.items():
        path = f"/issues?q={quote(text_)}"
        with count_statements(world.db) as statements:
            assert await numbers(world, path) == expected, text_
        plan = []
        async with world.db.reading.connect() as connection:
            for statement, parameters in statements:
                if " LIKE " in statement:
                    rows = await connection.exec_driver_sql(
                        f"EXPLAIN QUERY PLAN {statement}", tuple(parameters)
                    )
                    plan += [row.detail for row in rows]
        assert plan
        for table in ("issue", "comment"):
            by_id = f"SEARCH {table} USING INTEGER PRIMARY KEY (rowid=?)"
            ways = {line for line in plan if line.split()[:2] in (["SEARCH", table], ["SCAN", table])}
            ways = {way for way in ways if "COVERING" not in way}  # which reads no text
            assert (ways == {by_id}) == (len(text_) > 2), ways
    await world.call("PATCH", "/issues/1", {"title": "It smokes", "body": "nothing"})
    await world.call("DELETE", "/issues/comments/1")
    assert [await numbers(world, f"/issues?q={text_}") for text_ in ("burns", "smokes", "needle")] == [
        [],
        [1],
        [2],
    ]
    assert (await world.call("DELETE", "/issues/2")).status_code == 204
    assert await numbers(world, "/issues?q=needle") == []
    async with world.db.transaction() as tx:
        for table in (
            "issue_trigrams",
            "comment_trigrams",
        ):  # fails where the index has what the rows have not
            await tx.execute(text(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')"))


async def revision_and_indexes(world):
    async with world.db.read() as db:
        version = (await db.execute(text("SELECT version_num FROM alembic_version"))).scalar_one()
        names = await db.execute(text("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%_trigrams%'"))
        return version, sorted(names.scalars())


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_indexes_are_built_when_the_revisions_before_are_kept_and_a_failure_is_not_passed_over(world):
    head, indexes = await revision_and_indexes(world)
    if not indexes:
        pytest.skip("this PostgreSQL comes without pg_trgm")
    url = world.db.url.render_as_string(hide_password=False)

    async def migrate(*before):
        async with world.db.transaction() as tx:
            for statement in before:
                await tx.execute(text(statement))
        await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))

    older = (
        "DROP INDEX ix_pull_merge",
        "DROP INDEX ix_issue_of_author",
        "DROP INDEX ix_review_of_author",
        "DROP TABLE mention",
        *AFTER_0030,
        "DROP TABLE file_view",
        "ALTER TABLE issue DROP COLUMN content_version",
        "ALTER TABLE pull DROP COLUMN head_hidden",
        "ALTER TABLE pull DROP COLUMN head_tip",
        "UPDATE alembic_version SET version_num = '0018'",
    )
    with pytest.raises(ProgrammingError, match="does not exist"):
        await migrate(
            *(f"DROP INDEX {name}" for name in indexes), *older, "ALTER TABLE comment RENAME TO moved"
        )
    assert await revision_and_indexes(world) == (
        "0019",
        ["ix_issue_body_trigrams", "ix_issue_title_trigrams"],
    )
    await migrate("ALTER TABLE moved RENAME TO comment")
    assert await revision_and_indexes(world) == (head, indexes)


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_database_without_trigrams_is_migrated_all_the_same(database_url):
    """As a role that may not create extensions."""
    async with without_extensions(database_url) as url:
        with capture_logs() as lines:
            await upgrade(url, SCRIPTS)
        warnings = [line["statements"][0] for line in lines if line["log_level"] == "warning"]
        assert warnings == [f"CREATE EXTENSION IF NOT EXISTS {name}" for name in ("pg_trgm", "btree_gin")]
        assert not await pending(url, SCRIPTS)
