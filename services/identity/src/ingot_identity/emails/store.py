"""SQL for the addresses of users. The account row repeats the primary address."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Select,
    String,
    Table,
    UniqueConstraint,
    delete,
    false,
    null,
    or_,
    select,
    true,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import COUNTED, TRIGRAM, by_index, has_trigrams
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.counts import EMAILS, total_of
from ingot_identity.accounts.store.searches import contains
from ingot_identity.accounts.store.tables import AccountRow, account, metadata

email = Table(
    "email",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("address", String(254), nullable=False, unique=True),
    # The address in the letter case in which it was added; the same as ``address`` where it is null.
    Column("spelling", String(254)),
    Column("is_primary", Boolean, nullable=False, default=False),
    # Null for an address that its owner alone claims. ``verified`` is true for these, too, in rows of earlier
    # releases.
    Column("verified", Boolean, nullable=False, default=True),
    Column("confirmed_at", UtcDateTime),
    **LASTING_IDS,
)


claim = Table(
    "email_claim",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("address", String(254), nullable=False),
    Column("spelling", String(254), nullable=False),
    UniqueConstraint("account_id", "address"),
    **LASTING_IDS,
)
"""Addresses that wait for their confirmation by mail. Several accounts may claim the same one."""


class EmailRow(TypedRow):
    id: int
    account_id: int
    address: str
    spelling: str | None
    is_primary: bool
    confirmed_at: datetime | None


async def add(
    db: Executor, account_id: int, spellings: Mapping[str, str], *, is_primary: bool, confirmed: bool
) -> Sequence[EmailRow]:
    """Insert addresses in lower case, each with its spelling. Return the rows of new addresses.

    A confirmed address is removed from any other account that only claims it, except a primary address.
    Otherwise any account could block the owner of an address.
    """
    if confirmed:
        is_claim = (email.c.confirmed_at.is_(None), ~email.c.is_primary, email.c.account_id != account_id)
        await db.execute(delete(email).where(email.c.address.in_(list(spellings)), *is_claim))
    statement = (
        insert(db, email)
        .values(
            [
                {
                    "account_id": account_id,
                    "address": address,
                    "spelling": spelling,
                    "is_primary": is_primary,
                    "verified": confirmed,
                    "confirmed_at": now() if confirmed else None,
                }
                for address, spelling in spellings.items()
            ]
        )
        .on_conflict_do_nothing()
        .returning(email)
    )
    return await fetch_all(db, statement, EmailRow)


_CLAIMED = (
    claim.c.id,
    claim.c.account_id,
    claim.c.address,
    claim.c.spelling,
    false().label("is_primary"),
    null().label("confirmed_at"),
)
_PRIMARY_FIRST = (email.c.is_primary.desc(), email.c.id)


async def list_all(db: Executor, account_id: int) -> Sequence[EmailRow]:
    """Return all addresses of an account: the primary address, the others, the claims; each oldest first."""
    rows = await fetch_all(db, _of_account(account_id).order_by(*_PRIMARY_FIRST), EmailRow)
    claims = select(*_CLAIMED).where(claim.c.account_id == account_id).order_by(claim.c.id)
    return [*rows, *await fetch_all(db, claims, EmailRow)]


async def add_claims(db: Executor, account_id: int, spellings: Mapping[str, str]) -> None:
    """Add claims of unconfirmed addresses in lower case, each with its spelling."""
    values = [
        {"account_id": account_id, "address": address, "spelling": spelling}
        for address, spelling in spellings.items()
    ]
    if values:
        await db.execute(insert(db, claim).values(values).on_conflict_do_nothing())


async def claims_among(db: Executor, account_id: int, addresses: Collection[str]) -> Sequence[EmailRow]:
    """Return the claims of the account on any of ``addresses``."""
    statement = select(*_CLAIMED).where(claim.c.account_id == account_id, claim.c.address.in_(addresses))
    return await fetch_all(db, statement, EmailRow)


async def take_claim(db: Executor, account_id: int, address: str) -> str | None:
    """Delete a claim of the account. Return its spelling, or None if the claim does not exist."""
    own = (claim.c.account_id == account_id, claim.c.address == address)
    return (await db.execute(delete(claim).where(*own).returning(claim.c.spelling))).scalar()


async def list_confirmed(db: Executor, account_ids: Collection[int]) -> Sequence[EmailRow]:
    """Return the confirmed addresses of these accounts."""
    statement = select(email).where(email.c.account_id.in_(account_ids), email.c.confirmed_at.is_not(None))
    return await fetch_all(db, statement, EmailRow)


def _of_account(account_id: int) -> Select[Any]:
    return select(email).where(email.c.account_id == account_id)


class OwnedEmailRow(EmailRow):
    """An address, and the name of the account that has it."""

    login: str


async def search(db: Executor, text: str, page: Slice) -> tuple[Sequence[OwnedEmailRow], int]:
    """Return a page of addresses that contain ``text``, or whose owner's name does, and their number.

    Ordered by address.
    """
    statement = select(email, account.c.login).join(account, account.c.id == email.c.account_id)
    ids = select(email.c.id).where(_has_text(text) if text else true())
    count, most = (None, COUNTED) if text else (total_of(EMAILS), None)
    return await fetch_page(
        db, statement, page, OwnedEmailRow, email.c.address, ids=ids, count=count, count_at_most=most
    )


def _has_text(text: str) -> ColumnElement[bool]:
    owned_by = select(account.c.id).where(contains(account.c.lower_login, text))
    addresses = select(email.c.id).where(contains(email.c.address, text))
    if len(text) < TRIGRAM:
        return or_(email.c.id.in_(addresses), email.c.account_id.in_(owned_by))
    owned_by = owned_by.where(has_trigrams(account.c.id, "account_trigrams", text, of="lower_login"))
    addresses = addresses.where(has_trigrams(email.c.id, "email_trigrams", text))
    matching = by_index(
        addresses.union(select(email.c.id).where(email.c.account_id.in_(owned_by))), "matching"
    )
    return email.c.id.in_(select(matching.c.id))


async def among(db: Executor, account_id: int, addresses: Collection[str]) -> Sequence[EmailRow]:
    """Return the addresses of the account that are in ``addresses``, without claims."""
    statement = select(email).where(email.c.account_id == account_id, email.c.address.in_(addresses))
    return await fetch_all(db, statement, EmailRow)


async def get_primary(db: Executor, account_id: int) -> EmailRow | None:
    """Return the primary address of the account, or None."""
    statement = _of_account(account_id).where(email.c.is_primary)
    return await fetch_first(db, statement, EmailRow)


async def mark_primary(db: Executor, account_id: int, address: str) -> None:
    """Make ``address`` the primary address of the account."""
    own = update(email).where(email.c.account_id == account_id)
    await db.execute(own.values(is_primary=email.c.address == address))


async def mark_confirmed(db: Executor, account_id: int, address: str) -> bool:
    """Mark an address as confirmed. Return False if the account does not have it."""
    statement = (
        update(email)
        .where(email.c.account_id == account_id, email.c.address == address)
        .values(confirmed_at=now(), verified=True)
        .returning(email.c.id)
    )
    return (await db.execute(statement)).scalar() is not None


async def remove(db: Executor, account_id: int, addresses: Collection[str]) -> None:
    """Delete addresses and claims of an account."""
    for table in (email, claim):
        await db.execute(
            delete(table).where(table.c.account_id == account_id, table.c.address.in_(addresses))
        )


async def remove_primary(db: Executor, account_id: int) -> None:
    await db.execute(delete(email).where(email.c.account_id == account_id, email.c.is_primary))


async def remove_claims(db: Executor, address: str) -> None:
    """Delete an unconfirmed address from its account, unless it is the primary address."""
    await db.execute(
        delete(email).where(email.c.address == address, email.c.confirmed_at.is_(None), ~email.c.is_primary)
    )


async def get_by_email(db: Executor, address: str) -> AccountRow | None:
    """Return the user with this primary address, in any letter case; None if no user has it."""
    statement = (
        select(account)
        .join(email, email.c.account_id == account.c.id)
        .where(email.c.address == address.lower(), email.c.is_primary)
    )
    return await fetch_first(db, statement, AccountRow)


async def get_confirmed_owner(db: Executor, address: str) -> AccountRow | None:
    """Return the user whose confirmed address this is, or None."""
    statement = (
        select(account)
        .join(email, email.c.account_id == account.c.id)
        .where(email.c.address == address.lower(), email.c.confirmed_at.is_not(None))
    )
    return await fetch_first(db, statement, AccountRow)
