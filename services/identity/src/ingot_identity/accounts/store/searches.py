"""SQL for searches by a part of a name or an address, ignoring case.

Names and addresses have trigram indexes: pg_trgm on PostgreSQL, FTS5 on SQLite.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal_column, or_, select, true

from ingot_chassis.db.arrays import COUNTED, TRIGRAM, by_index, has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_identity.accounts.store.tables import AccountKind, AccountRow, account


async def list_accounts(
    db: Executor, matches: ColumnElement[bool], page: Slice, *order: Any, count: Select[Any] | None
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of matching accounts, and their number.

    ``count`` is the query for the number; without it the matches are counted, up to ``COUNTED``.
    """
    ids, most = select(account.c.id).where(matches), COUNTED if count is None else None
    return await fetch_page(
        db, select(account), page, AccountRow, *order, ids=ids, count=count, count_at_most=most
    )


def is_of_kind(kind: AccountKind, *, is_search: bool) -> ColumnElement[bool]:
    """Return the condition for accounts of a kind.

    For lists it is a literal, because partial indexes need conditions without parameters. For searches it is
    a parameter, so the planner does not walk the names in order.
    """
    return account.c.kind == (kind if is_search else literal_column(f"'{kind}'"))


def has_name(text: str, *, or_address: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
    """Return the condition for accounts with a text in the name or the full name; all for an empty text.

    Accounts for which ``or_address`` is true may have the text in the address instead; None: no account may.
    """
    if not text:
        return true()
    has_text = or_(contains(account.c.lower_login, text), contains(func.lower(account.c.full_name), text))
    columns = "{lower_login full_name}"
    if or_address is not None:
        has_text = or_(has_text, and_(contains(account.c.email, text), or_address))
        columns = ""
    if len(text) < TRIGRAM:
        return has_text
    is_indexed = has_trigrams(account.c.id, "account_trigrams", text, of=columns)
    matching = by_index(select(account.c.id).where(is_indexed, has_text), "matching")
    return account.c.id.in_(select(matching.c.id))


def contains(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Return the condition that a column in lower case contains a text."""
    return column.contains(text.lower(), autoescape=True)
