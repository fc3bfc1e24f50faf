"""How many rows there are, without counting them: triggers note in a table how many come or go of a kind.

Such a table has an ``id``, the columns of a kind, and a ``number``. Sums of the numbers are exact at any time.
"""

from collections import Counter
from typing import Any

from sqlalchemy import CompoundSelect, Select, Table, delete, select

from ingot_chassis.db.rows import fetch_count
from ingot_chassis.db.transaction import Tx, insert

MOST_NOTES = 1_000
"""Rows that every total adds up, at most until `add_up` is called the next time."""


async def add_up(tx: Tx, notes: Table, *, lock: str) -> int:
    """Make one row of each kind of what triggers noted, if that is more than ``MOST_NOTES`` rows; how many there were."""
    await tx.advisory_lock(lock)
    if await fetch_count(tx, select(notes.c.id).limit(MOST_NOTES + 1)) <= MOST_NOTES:
        return 0
    kind = _kind(notes)
    columns = [notes.c[name] for name in (*kind, "number")]
    removed = (await tx.execute(delete(notes).returning(*columns))).all()
    sums: Counter[tuple[Any, ...]] = Counter()
    for row in removed:
        sums[tuple(row[:-1])] += row[-1]
    rows = [{**dict(zip(kind, values, strict=True)), "number": number} for values, number in sums.items()]
    await tx.execute(insert(tx, notes), rows)
    return len(removed)


async def recount(tx: Tx, notes: Table, counted: Select[Any] | CompoundSelect[Any], *, lock: str) -> None:
    """Put what is ``counted`` in place of all notes: a row for each kind, with its columns in order and the number."""
    await tx.advisory_lock(lock)
    statement = insert(tx, notes).from_select([*_kind(notes), "number"], counted)
    if tx.dialect_name == "sqlite":
        await tx.execute(delete(notes))
    else:  # in one statement, which sees one state: what a trigger notes meanwhile is neither counted nor deleted
        statement = statement.add_cte(delete(notes).cte("former"))
    await tx.execute(statement)


def _kind(notes: Table) -> list[str]:
    return [column.name for column in notes.c if column.name not in ("id", "number")]
