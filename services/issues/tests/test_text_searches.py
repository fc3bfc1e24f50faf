"""The search of issues by text: what it finds, and how many rows it looks at."""

import json

import pytest
from sqlalchemy import text

from ingot_chassis.testing.service import count_statements
from ingot_issues.store import accounts, repositories

from .builders import APP, account, repository

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
    )  # the timeline has the title, but nobody wrote it
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


MANY = 3_000
FILL = f"""
    INSERT INTO issue (repository_id, number, is_pull, author_id, title, body, state, comments, created_at, updated_at)
    SELECT {APP} + n % 2, n, false, 1, 'Straw ' || n,
        CASE WHEN n % 1000 = 4 THEN 'a needle' ELSE 'nothing but straw, and more of it' END, 'open', 1,
        '2026-01-01', '2026-01-01'
    FROM generate_series(1, {MANY}) AS n;
    INSERT INTO comment (issue_id, repository_id, author_id, kind, body, created_at, updated_at)
    SELECT id, repository_id, 1, 0, CASE WHEN number % 1000 = 8 THEN 'Needle!' ELSE 'straw' END, created_at, updated_at
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
        for index in ("issue_title", "issue_body", "comment_body"):  # as VACUUM does in time
            await tx.execute(text(f"SELECT gin_clean_pending_list('ix_{index}_trigrams')"))
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
