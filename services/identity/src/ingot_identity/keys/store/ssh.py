"""SQL for the SSH keys of users."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountRow, account
from ingot_identity.keys.store.tables import SshKeyRow, ssh_key
from ingot_identity.sources.store.tables import auth_source, external_identity


class KeyHolderRow(AccountRow):
    """The account that has a key, and the columns of the key that a session over SSH needs."""

    title: str
    key_id: int
    key_read_only: bool
    key_used_at: datetime | None


async def add(
    db: Executor,
    account_id: int,
    *,
    title: str,
    content: str,
    fingerprint: str,
    read_only: bool = False,
    identity_id: int | None = None,
) -> SshKeyRow | None:
    """Insert a key. Return None if the key exists, or if its owner has a key with this title."""
    statement = (
        insert(db, ssh_key)
        .values(
            account_id=account_id,
            title=title,
            content=content,
            fingerprint=fingerprint,
            read_only=read_only,
            created_at=now(),
            identity_id=identity_id,
        )
        .on_conflict_do_nothing()
        .returning(ssh_key)
    )
    return await fetch_first(db, statement, SshKeyRow)


async def exists(db: Executor, fingerprint: str) -> bool:
    return (
        await db.execute(select(ssh_key.c.id).where(ssh_key.c.fingerprint == fingerprint))
    ).first() is not None


_HOLDER = PreparedQuery(
    select(
        account,
        ssh_key.c.title,
        ssh_key.c.id.label("key_id"),
        ssh_key.c.read_only.label("key_read_only"),
        ssh_key.c.last_used_at.label("key_used_at"),
    )
    .join(ssh_key, ssh_key.c.account_id == account.c.id)
    .where(ssh_key.c.fingerprint == bindparam("fingerprint")),
    KeyHolderRow,
)


async def get_holder(db: Executor, fingerprint: str) -> KeyHolderRow | None:
    """Return the account that has a key, or None. Every session over SSH calls this several times."""
    return await _HOLDER.first(db, fingerprint=fingerprint)


async def list_by_fingerprint(db: Executor, fingerprints: Collection[str]) -> Sequence[SshKeyRow]:
    return await fetch_all(db, select(ssh_key).where(ssh_key.c.fingerprint.in_(fingerprints)), SshKeyRow)


async def get(db: Executor, key_id: int) -> SshKeyRow | None:
    return await fetch_first(db, select(ssh_key).where(ssh_key.c.id == key_id), SshKeyRow)


async def list_page(
    db: Executor, account_id: int, page: Slice, *, fingerprint: str = ""
) -> tuple[Sequence[SshKeyRow], int]:
    """Return a page of keys, oldest first. With ``fingerprint``, return only the key with it."""
    statement = select(ssh_key).where(ssh_key.c.account_id == account_id)
    if fingerprint:
        statement = statement.where(ssh_key.c.fingerprint == fingerprint)
    return await fetch_page(db, statement, page, SshKeyRow, ssh_key.c.id)


async def list_of_identity(db: Executor, identity_id: int) -> Sequence[SshKeyRow]:
    """Return the keys that a directory added to a linked account."""
    statement = select(ssh_key).where(ssh_key.c.identity_id == identity_id)
    return await fetch_all(db, statement.order_by(ssh_key.c.id), SshKeyRow)


class KeyOfLinkRow(TypedRow):
    identity_id: int
    fingerprint: str


async def list_of_source(db: Executor, source_id: int) -> dict[int, set[str]]:
    """Return the fingerprints of keys that a directory added, by the id of the link to an account."""
    statement = (
        select(ssh_key.c.identity_id, ssh_key.c.fingerprint)
        .join(external_identity, external_identity.c.id == ssh_key.c.identity_id)
        .where(external_identity.c.source_id == source_id)
    )
    fingerprints = dict[int, set[str]]()
    for row in await fetch_all(db, statement, KeyOfLinkRow):
        fingerprints.setdefault(row.identity_id, set()).add(row.fingerprint)
    return fingerprints


async def remove_unlinked(db: Executor, account_id: int) -> None:
    """Delete the account's keys of directories that it is no longer linked with."""
    links = select(external_identity.c.id).where(external_identity.c.account_id == account_id)
    await db.execute(
        delete(ssh_key).where(
            ssh_key.c.account_id == account_id,
            ssh_key.c.identity_id.is_not(None),
            ssh_key.c.identity_id.not_in(links),
        )
    )


class KeySourceRow(TypedRow):
    """The link through which a directory added a key, and the title of the directory."""

    identity_id: int
    title: str


async def sources_of(db: Executor, account_id: int) -> dict[int, str]:
    """Return the titles of the sources that an account is linked with, by the id of the link."""
    statement = (
        select(external_identity.c.id.label("identity_id"), auth_source.c.title)
        .join(auth_source, auth_source.c.id == external_identity.c.source_id)
        .where(external_identity.c.account_id == account_id)
    )
    return {row.identity_id: row.title for row in await fetch_all(db, statement, KeySourceRow)}


async def mark_used(db: Executor, key_id: int) -> None:
    await db.execute(update(ssh_key).where(ssh_key.c.id == key_id).values(last_used_at=now()))


async def remove(db: Executor, key_id: int) -> None:
    await db.execute(delete(ssh_key).where(ssh_key.c.id == key_id))
