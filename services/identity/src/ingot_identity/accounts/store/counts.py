"""SQL for the numbers of users, organizations and addresses. Triggers record each added or removed row."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Select,
    String,
    Table,
    cast,
    func,
    literal_column,
    select,
)

from ingot_chassis.db import noted_counts
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_chassis.db.transaction import Tx
from ingot_identity.accounts.store.tables import AccountVisibility, metadata

list_count = Table(
    "list_count",
    metadata,
    # Several rows of one list, to be added up: were there one, all who create accounts would wait for its
    # lock.
    Column("id", BigId, primary_key=True, autoincrement=True),
    # ``users``, ``emails``, or a visibility and ``organizations``.
    Column("list", String(30), nullable=False),
    Column("number", BigInteger, nullable=False),
    **LASTING_IDS,
)


USERS, EMAILS = "users", "emails"
LOCK = "recount lists"


def organizations(visibility: AccountVisibility) -> str:
    """Return the name of the list of organizations of that visibility."""
    return f"{visibility} organizations"


def total_of(*lists: str, more: ColumnElement[int] | None = None) -> Select[Any]:
    """Return the query for the number of rows in these lists together, plus ``more``."""
    total = cast(func.coalesce(func.sum(list_count.c.number), literal_column("0", BigInteger)), BigInteger)
    noted = select(total).where(list_count.c.list.in_(lists)).scalar_subquery()
    return select((noted if more is None else noted + more).label("total"))


async def add_up(tx: Tx) -> int:
    """Add up the counts of the triggers. See `noted_counts.add_up`."""
    return await noted_counts.add_up(tx, list_count, lock=LOCK)
