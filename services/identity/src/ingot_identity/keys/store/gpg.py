"""SQL for OpenPGP keys: a primary key and its subkeys are rows of one table."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import case, delete, or_, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import account
from ingot_identity.emails.store import EmailRow, email
from ingot_identity.keys.store.tables import GpgKeyRow, gpg_key


class CertifiedKeyRow(TypedRow):
    """A key or subkey, with its certificate and the addresses that the certificate names.

    ``verified``: the owner has signed a token with it.
    """

    key_id: str
    account_id: int
    certificate: bytes
    addresses: str
    verified: bool


async def add(db: Executor, account_id: int, keys: Sequence[dict[str, Any]]) -> int:
    """Insert keys. Return the number of new keys."""
    statement = insert(db, gpg_key).values([{"account_id": account_id, **key} for key in keys])
    return len((await db.execute(statement.on_conflict_do_nothing().returning(gpg_key.c.id))).scalars().all())


async def get(db: Executor, id_: int) -> GpgKeyRow | None:
    """Return the primary key with that id, or None."""
    statement = select(gpg_key).where(gpg_key.c.id == id_, gpg_key.c.primary_key_id == "")
    return await fetch_first(db, statement, GpgKeyRow)


async def get_by_key_id(db: Executor, key_id: str) -> GpgKeyRow | None:
    return await fetch_first(db, select(gpg_key).where(gpg_key.c.key_id == key_id), GpgKeyRow)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[GpgKeyRow], int]:
    """Return a page of primary keys, oldest first."""
    statement = select(gpg_key).where(gpg_key.c.account_id == account_id, gpg_key.c.primary_key_id == "")
    return await fetch_page(db, statement, page, GpgKeyRow, gpg_key.c.id)


async def subkeys_of(db: Executor, key_ids: Collection[str]) -> Sequence[GpgKeyRow]:
    statement = select(gpg_key).where(gpg_key.c.primary_key_id.in_(key_ids)).order_by(gpg_key.c.id)
    return await fetch_all(db, statement, GpgKeyRow)


async def list_certified(db: Executor, key_ids: Collection[str]) -> Sequence[CertifiedKeyRow]:
    """Return the keys and subkeys with these ids that may sign and whose certificates are stored."""
    named, primary = gpg_key.alias(), gpg_key.alias()
    primary_id = case((named.c.primary_key_id == "", named.c.key_id), else_=named.c.primary_key_id)
    statement = (
        select(
            named.c.key_id,
            named.c.account_id,
            primary.c.certificate,
            primary.c.addresses,
            primary.c.verified,
        )
        .join(primary, primary.c.key_id == primary_id)
        .where(named.c.key_id.in_(key_ids), named.c.can_sign, primary.c.certificate.is_not(None))
    )
    return await fetch_all(db, statement, CertifiedKeyRow)


async def addresses_of(
    db: Executor, account_ids: Collection[int], viewer_id: int
) -> dict[tuple[int, str], bool]:
    """Return the addresses of these accounts by (account, address): True if the address is confirmed.

    Addresses of an owner who hides them are returned only if the owner is the viewer.
    """
    statement = (
        select(email)
        .join(account, account.c.id == email.c.account_id)
        .where(email.c.account_id.in_(account_ids), or_(~account.c.email_private, account.c.id == viewer_id))
    )
    rows = await fetch_all(db, statement, EmailRow)
    return {(row.account_id, row.address): row.confirmed_at is not None for row in rows}


async def verify(db: Executor, key_id: str) -> None:
    """Mark a primary key and its subkeys as verified."""
    of_key = or_(gpg_key.c.key_id == key_id, gpg_key.c.primary_key_id == key_id)
    await db.execute(update(gpg_key).where(of_key).values(verified=True))


async def remove(db: Executor, key_id: str) -> None:
    """Delete a primary key and its subkeys."""
    await db.execute(
        delete(gpg_key).where(or_(gpg_key.c.key_id == key_id, gpg_key.c.primary_key_id == key_id))
    )
