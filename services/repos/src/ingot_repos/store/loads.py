"""SQL for how much git clients ask of each repository."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import ColumnElement, Integer, case, select

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.store.load_tables import repository_load
from ingot_repos.store.tables import repository

MOST_ROWS = 1000
"""Of one statement."""


def today() -> int:
    """The day as in the table."""
    return int(now().timestamp()) // int(timedelta(days=1).total_seconds())


def recent_requests() -> ColumnElement[int]:
    """Requests of today and of yesterday, for a query that joins the table from outside."""
    day, requests, before = (
        repository_load.c.day,
        repository_load.c.requests,
        repository_load.c.requests_before,
    )
    return case((day == today(), requests + before), (day == today() - 1, requests), else_=0).cast(Integer)


async def add(tx: Tx, counts: Mapping[int, int]) -> None:
    """Count these requests of today, by repository. Repositories that are gone are left out."""
    ids, day = sorted(counts), today()
    for start in range(0, len(ids), MOST_ROWS):
        existing = select(repository.c.id).where(repository.c.id.in_(ids[start : start + MOST_ROWS]))
        # In one order: two processes that write the same rows would wait for each other.
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
