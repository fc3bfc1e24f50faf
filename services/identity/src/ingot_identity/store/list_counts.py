"""SQL for how many users, organizations and addresses there are: triggers note each that comes or goes."""

from collections import Counter
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    String,
    case,
    cast,
    delete,
    func,
    literal_column,
    select,
)

from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_count
from ingot_chassis.db.transaction import Tx, insert
from ingot_identity.store.count_tables import list_count
from ingot_identity.store.tables import AccountKind, AccountVisibility, account, email

USERS, EMAILS = "users", "emails"
MOST_NOTES = 1_000
"""Rows that every total adds up, at most for a minute more."""
_LOCK = "recount lists"


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


async def add_up(tx: Tx) -> int:
    """Make one row of each list of what triggers noted, if that is more than ``MOST_NOTES`` rows; how many there were."""
    await tx.advisory_lock(_LOCK)
    if await fetch_count(tx, select(list_count.c.id).limit(MOST_NOTES + 1)) <= MOST_NOTES:
        return 0
    removed = delete(list_count).returning(list_count.c.list, list_count.c.number)
    notes = await fetch_all(tx, removed, _NoteRow)
    sums: Counter[str] = Counter()
    for note in notes:
        sums[note.list] += note.number
    rows = [{"list": name, "number": number} for name, number in sums.items()]
    await tx.execute(insert(tx, list_count), rows)
    return len(notes)


async def recount(tx: Tx) -> None:
    """Count anew, into one row for each list."""
    await tx.advisory_lock(_LOCK)
    is_user = account.c.kind == literal_column(f"'{AccountKind.USER}'")
    name = case((is_user, literal_column(f"'{USERS}'")), else_=account.c.visibility + " organizations")
    accounts = select(name.label("list"), func.count()).group_by(literal_column("1"))
    addresses = select(literal_column(f"'{EMAILS}'", String), func.count()).select_from(email)
    counted = accounts.union_all(addresses)
    statement = insert(tx, list_count).from_select(["list", "number"], counted)
    if tx.dialect_name == "sqlite":
        await tx.execute(delete(list_count))
    else:  # in one statement, which sees one state: what a trigger notes meanwhile is neither counted nor deleted
        statement = statement.add_cte(delete(list_count).cte("former"))
    await tx.execute(statement)
