"""SQL for how many users, organizations and addresses there are: triggers note each that comes or goes."""

from collections import Counter
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, cast, delete, func, literal_column, select

from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.transaction import Tx, insert
from ingot_identity.store.count_tables import list_count
from ingot_identity.store.tables import AccountVisibility

USERS, EMAILS = "users", "emails"


class _NoteRow(TypedRow):
    """That a list became longer by so many rows, or shorter."""

    list: str
    number: int


def organizations(visibility: AccountVisibility) -> str:
    """The list of organizations of that visibility."""
    return f"{visibility} organizations"


def total_of(*lists: str, more: ColumnElement[int] | None = None) -> Select[Any]:
    """How many rows these lists have together, and ``more``."""
    total = cast(func.coalesce(func.sum(list_count.c.number), literal_column("0", BigInteger)), BigInteger)
    noted = select(total).where(list_count.c.list.in_(lists)).scalar_subquery()
    return select((noted if more is None else noted + more).label("total"))


async def add_up(tx: Tx) -> None:
    """Make one row of each list of what triggers noted."""
    removed = delete(list_count).returning(list_count.c.list, list_count.c.number)
    numbers: Counter[str] = Counter()
    for note in await fetch_all(tx, removed, _NoteRow):
        numbers[note.list] += note.number
    if numbers:
        rows = [{"list": name, "number": number} for name, number in numbers.items()]
        await tx.execute(insert(tx, list_count), rows)
