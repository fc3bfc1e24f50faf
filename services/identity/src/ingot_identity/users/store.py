"""SQL for lists and searches of users."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    case,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from ingot_chassis.db import noted_counts
from ingot_chassis.db.arrays import by_index
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice
from ingot_chassis.db.transaction import Tx
from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.store.counts import EMAILS, LOCK, USERS, list_count, total_of
from ingot_identity.accounts.store.searches import has_name, is_of_kind, list_accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow, account
from ingot_identity.emails.store import email
from ingot_identity.passkeys.store import passkey
from ingot_identity.two_factors.store import two_factor


async def search_users(
    db: Executor, text: str, page: Slice, viewer: Principal, *, user_id: int = 0
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of users whose name, full name or address contains ``text``, and their number.

    Addresses that ``viewer`` may not see are not searched. With ``user_id``, only that user is listed.
    """
    may_see = or_(~account.c.email_private, account.c.id == viewer.id, literal(viewer.admin))
    has_text = has_name(text, or_address=may_see if viewer.signed_in else None)
    matches = and_(is_of_kind(AccountKind.USER, is_search=bool(text)), has_text)
    if user_id:
        matches &= account.c.id == user_id
    count = None if text or user_id else total_of(USERS)
    return await list_accounts(db, matches, page, account.c.lower_login, count=count)


class UserFilter(msgspec.Struct, frozen=True):
    """An administrator's filter of users. None, 0 and an empty ``login_name`` match all.

    ``text`` is a part of a name or address.
    """

    text: str = ""
    login_name: str = ""
    source_id: int = 0
    admin: bool | None = None
    active: bool | None = None
    login_prohibited: bool | None = None
    restricted: bool | None = None
    two_factor: bool | None = None
    matches_none: bool = False
    """True if the filter requests an unsupported kind, so it matches no user."""


SORT_COLUMNS = {
    "name": account.c.lower_login,
    "created": account.c.created_at,
    "updated": account.c.updated_at,
    "id": account.c.id,
}


async def list_users(
    db: Executor, user_filter: UserFilter, page: Slice, *, sort: str, descending: bool
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of users for administrators, and their number; ``sort`` is a key of ``SORT_COLUMNS``.

    With a filter, at most ``COUNTED`` are counted.
    """
    text = user_filter.text
    few = list[ColumnElement[bool]]()
    matches = has_name(text, or_address=true())
    if user_filter.login_name:  # what most have is written out: an index leaves them out
        has_login_name = account.c.login_name != literal_column("''")
        few += [account.c.login_name == user_filter.login_name, has_login_name]
    if user_filter.source_id:
        few += [account.c.source_id == user_filter.source_id, account.c.source_id != literal_column("0")]
    for column, value, of_few in (
        (account.c.admin, user_filter.admin, True),
        (account.c.active, user_filter.active, False),
        (account.c.login_prohibited, user_filter.login_prohibited, True),
        (account.c.restricted, user_filter.restricted, True),
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
        apps = select(two_factor.c.account_id).where(two_factor.c.confirmed_at.is_not(None))
        confirmed = apps.union_all(select(passkey.c.account_id))
        has_it = account.c.id.in_(confirmed)
        matches &= has_it if user_filter.two_factor else ~has_it
    if user_filter.matches_none:
        matches &= false()
    column = SORT_COLUMNS[sort]
    order = (column.desc(), account.c.id.desc()) if descending else (column, account.c.id)
    count = total_of(USERS) if user_filter == UserFilter() else None
    return await list_accounts(db, matches, page, *order, count=count)


async def recount(tx: Tx) -> None:
    """Recount users, organizations and addresses; write one row for each list."""
    is_user = account.c.kind == literal_column(f"'{AccountKind.USER}'")
    name = case((is_user, literal_column(f"'{USERS}'")), else_=account.c.visibility + " organizations")
    accounts = select(name.label("list"), func.count()).group_by(literal_column("1"))
    addresses = select(literal_column(f"'{EMAILS}'", String), func.count()).select_from(email)
    await noted_counts.recount(tx, list_count, accounts.union_all(addresses), lock=LOCK)
