"""SQL of searches by a part of a name or an address, in any case of letters.

Names and addresses have trigram indexes: of pg_trgm on PostgreSQL, of FTS5 on SQLite.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from ingot_chassis.db.arrays import COUNTED, TRIGRAM, by_index, has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_chassis.security.principal import Principal
from ingot_identity.store.list_counts import USERS, total_of
from ingot_identity.store.tables import AccountKind, AccountRow, account
from ingot_identity.store.two_factor_tables import two_factor


async def list_accounts(
    db: Executor, matches: ColumnElement[bool], page: Slice, *order: Any, count: Select[Any] | None
) -> tuple[Sequence[AccountRow], int]:
    """A page of the accounts that match, and how many there are: by ``count``, or counted, ``COUNTED`` at most."""
    ids, most = select(account.c.id).where(matches), COUNTED if count is None else None
    return await fetch_page(
        db, select(account), page, AccountRow, *order, ids=ids, count=count, count_at_most=most
    )


def is_of_kind(kind: AccountKind, *, is_search: bool) -> ColumnElement[bool]:
    """Written out where all are listed: a database uses a partial index only for a condition that it can read.

    Bound where few are searched: the names in order are not to be walked for them.
    """
    return account.c.kind == (kind if is_search else literal_column(f"'{kind}'"))


def has_name(text: str, *, or_address: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
    """Accounts with a text in the name or the full name; all for an empty one.

    Those for which ``or_address`` is true may have it in the address instead; None: no account may.
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
    """Whether a column in lower case has a text in it."""
    return column.contains(text.lower(), autoescape=True)


async def search_users(
    db: Executor, text: str, page: Slice, viewer: Principal, *, user_id: int = 0
) -> tuple[Sequence[AccountRow], int]:
    """Users whose name, full name or address contains ``text``, by name; and how many there are.

    Addresses that ``viewer`` may not see are not searched. With ``user_id`` only that one.
    """
    may_see = or_(~account.c.email_private, account.c.id == viewer.id, literal(viewer.admin))
    has_text = has_name(text, or_address=may_see if viewer.signed_in else None)
    matches = and_(is_of_kind(AccountKind.USER, is_search=bool(text)), has_text)
    if user_id:
        matches &= account.c.id == user_id
    count = None if text or user_id else total_of(USERS)
    return await list_accounts(db, matches, page, account.c.lower_login, count=count)


class UserFilter(msgspec.Struct, frozen=True):
    """What an administrator looks for; None is any, and no ``login_name``. ``text`` is a part of name, full name or address."""

    text: str = ""
    login_name: str = ""
    admin: bool | None = None
    active: bool | None = None
    login_prohibited: bool | None = None
    two_factor: bool | None = None
    nobody: bool = False
    """Looks for users of a kind that there is not."""


SORT_COLUMNS = {
    "name": account.c.lower_login,
    "created": account.c.created_at,
    "updated": account.c.updated_at,
    "id": account.c.id,
}


async def list_users(
    db: Executor, user_filter: UserFilter, page: Slice, *, sort: str, descending: bool
) -> tuple[Sequence[AccountRow], int]:
    """Users as administrators list them; ``sort`` is a key of ``SORT_COLUMNS``. With a filter ``COUNTED`` are counted at most."""
    text = user_filter.text
    few = list[ColumnElement[bool]]()
    matches = has_name(text, or_address=true())
    if user_filter.login_name:  # what most have is written out: an index leaves them out
        has_login_name = account.c.login_name != literal_column("''")
        few += [account.c.login_name == user_filter.login_name, has_login_name]
    for column, value, of_few in (
        (account.c.admin, user_filter.admin, True),
        (account.c.active, user_filter.active, False),
        (account.c.login_prohibited, user_filter.login_prohibited, True),
    ):
        if value is of_few:
            few.append(column == value)
        elif value is not None:
            matches &= column == value
    if few:
        by_filter = by_index(select(account.c.id).where(*few), "by_filter")
        matches &= account.c.id.in_(select(by_filter.c.id))
    matches &= is_of_kind(AccountKind.USER, is_search=bool(text or few))
    if user_filter.two_factor is not None:
        confirmed = select(two_factor.c.account_id).where(two_factor.c.confirmed_at.is_not(None))
        has_it = account.c.id.in_(confirmed)
        matches &= has_it if user_filter.two_factor else ~has_it
    if user_filter.nobody:
        matches &= false()
    column = SORT_COLUMNS[sort]
    order = (column.desc(), account.c.id.desc()) if descending else (column, account.c.id)
    count = total_of(USERS) if user_filter == UserFilter() else None
    return await list_accounts(db, matches, page, *order, count=count)
