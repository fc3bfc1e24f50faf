"""SQL for how many users, organizations and addresses there are: triggers note each that comes or goes."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    String,
    case,
    cast,
    func,
    literal_column,
    select,
)

from ingot_chassis.db import noted_counts
from ingot_chassis.db.transaction import Tx
from ingot_identity.store.count_tables import list_count
from ingot_identity.store.tables import AccountKind, AccountVisibility, account, email

USERS, EMAILS = "users", "emails"
_LOCK = "recount lists"


def organizations(visibility: AccountVisibility) -> str:
    """The list of organizations of that visibility."""
    return f"{visibility} organizations"


def total_of(*lists: str, more: ColumnElement[int] | None = None) -> Select[Any]:
    """How many rows these lists have together, and ``more``."""
    total = cast(func.coalesce(func.sum(list_count.c.number), literal_column("0", BigInteger)), BigInteger)
    noted = select(total).where(list_count.c.list.in_(lists)).scalar_subquery()
    return select((noted if more is None else noted + more).label("total"))


async def add_up(tx: Tx) -> int:
    """See `noted_counts.add_up`."""
    return await noted_counts.add_up(tx, list_count, lock=_LOCK)


async def recount(tx: Tx) -> None:
    """Count anew, into one row for each list."""
    is_user = account.c.kind == literal_column(f"'{AccountKind.USER}'")
    name = case((is_user, literal_column(f"'{USERS}'")), else_=account.c.visibility + " organizations")
    accounts = select(name.label("list"), func.count()).group_by(literal_column("1"))
    addresses = select(literal_column(f"'{EMAILS}'", String), func.count()).select_from(email)
    await noted_counts.recount(tx, list_count, accounts.union_all(addresses), lock=_LOCK)
