"""Row counts without counting: triggers record the number of added or removed rows of each kind.

The table of these records has an ``id``, the columns of a kind, and a ``number``. The sum of the numbers is
exact at any time.
"""

from collections import Counter
from typing import Any

from sqlalchemy import CompoundSelect, Select, Table, delete, select

from ingot_chassis.db.rows import fetch_count
from ingot_chassis.db.transaction import Tx, insert

MOST_NOTES = 1_000
"""Recorded rows that each total may sum up until the next call of `add_up`."""


async def add_up(tx: Tx, notes: Table, *, lock: str) -> int:
    """Merge the records of each kind into one, if there are more than ``MOST_NOTES``.

    Return the number of merged records; 0 if nothing was merged. ``lock`` is the name of an advisory lock.
    """
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
    """Replace all records by the rows of ``counted``.

    ``counted`` has a row for each kind: its columns in order, and the number. ``lock`` is the name of an
    advisory lock.
    """
    await tx.advisory_lock(lock)
    statement = insert(tx, notes).from_select([*_kind(notes), "number"], counted)
    if tx.dialect_name == "sqlite":
        await tx.execute(delete(notes))
    else:  # one statement sees one state: what triggers record in parallel is neither counted nor deleted
        statement = statement.add_cte(delete(notes).cte("former"))
    await tx.execute(statement)


def _kind(notes: Table) -> list[str]:
    return [column.name for column in notes.c if column.name not in ("id", "number")]
