"""The table of the number of requests of git clients to each repository, and its SQL."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Column, ColumnElement, ForeignKey, Integer, Table, case, select

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.catalog.store.tables import metadata, repository

repository_load = Table(
    "repository_load",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The last day with requests of git clients, counted from 1970-01-01 in UTC.
    Column("day", Integer, nullable=False),
    # How many on that day, and on the day before it.
    Column("requests", Integer, nullable=False),
    Column("requests_before", Integer, nullable=False),
)

MOST_ROWS = 1000
"""Limit of rows per statement."""


def today() -> int:
    """Return the number of days from 1970-01-01 to today, in UTC."""
    return int(now().timestamp()) // int(timedelta(days=1).total_seconds())


def recent_requests() -> ColumnElement[int]:
    """Return the number of requests today and yesterday, for a query with an outer join of the table."""
    day, requests, before = (
        repository_load.c.day,
        repository_load.c.requests,
        repository_load.c.requests_before,
    )
    return case((day == today(), requests + before), (day == today() - 1, requests), else_=0).cast(Integer)


async def add(tx: Tx, counts: Mapping[int, int]) -> None:
    """Add today's requests by repository id. Deleted repositories are skipped."""
    ids, day = sorted(counts), today()
    for start in range(0, len(ids), MOST_ROWS):
        existing = select(repository.c.id).where(repository.c.id.in_(ids[start : start + MOST_ROWS]))
        # Fixed order: two processes that write the same rows must not deadlock.
        existing = existing.order_by(repository.c.id)
        rows = [
            {"repository_id": id_, "day": day, "requests": counts[id_], "requests_before": 0}
            for id_ in (await tx.execute(existing.with_for_update(read=True, key_share=True))).scalars()
        ]
        if rows:
            statement, table = insert(tx, repository_load).values(rows), repository_load
            is_today, is_yesterday = table.c.day == day, table.c.day == day - 1
            changed = {
                "day": day,
                "requests": case(
                    (is_today, table.c.requests + statement.excluded.requests),
                    else_=statement.excluded.requests,
                ),
                "requests_before": case(
                    (is_today, table.c.requests_before), (is_yesterday, table.c.requests), else_=0
                ),
            }
            await tx.execute(statement.on_conflict_do_update(index_elements=["repository_id"], set_=changed))
