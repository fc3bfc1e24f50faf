"""SQL for sessions in browsers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_identity.accounts.store.tables import AccountRow, account, metadata
from ingot_identity.sources.store.tables import LOCAL

NEVER = datetime(1970, 1, 1, tzinfo=UTC)

browser_session = Table(
    "browser_session",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("sha256", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    # Exact to the minute.
    Column("used_at", UtcDateTime),
    # When the person last gave what a sign-in asks for; ``NEVER`` before the first time.
    Column("proved_at", UtcDateTime),
    # From where it began, and with which program.
    Column("address", String(64), nullable=False, server_default=""),
    Column("user_agent", String(255), nullable=False, server_default=""),
    # Where a provider began it: its source, its id of the session, and its id token, for the sign-out there.
    Column("source_id", BigId, nullable=False, default=0, server_default="0"),
    Column("provider_session", String(255), nullable=False, default="", server_default=""),
    Column("sealed_id_token", LargeBinary),
    partial_index("ix_browser_session_provider", "source_id <> 0", "source_id", "provider_session"),
    **LASTING_IDS,
)


class BrowserSessionRow(TypedRow):
    id: int
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    address: str
    user_agent: str


class SessionHolderRow(AccountRow):
    """The signed-in account, the session, and its start."""

    signed_in_at: datetime
    proved_at: datetime | None
    session_id: int
    used_at: datetime | None


class ProviderSessionRow(TypedRow):
    """The source and the sealed id token of a session that a provider began."""

    source_id: int
    sealed_id_token: bytes | None


async def add(db: Executor, account_id: int, *, proved: bool, **values: Any) -> None:
    present = now()
    await db.execute(
        insert(browser_session).values(
            account_id=account_id,
            created_at=present,
            used_at=present,
            proved_at=present if proved else NEVER,
            **values,
        )
    )


async def get(db: Executor, sha256: bytes) -> SessionHolderRow | None:
    """Return the signed-in account. None if the session has ended or the account may not sign in."""
    statement = (
        select(
            account,
            browser_session.c.created_at.label("signed_in_at"),
            browser_session.c.proved_at,
            browser_session.c.id.label("session_id"),
            browser_session.c.used_at,
        )
        .join(browser_session, browser_session.c.account_id == account.c.id)
        .where(
            browser_session.c.sha256 == sha256,
            browser_session.c.expires_at > now(),
            account.c.active,
            ~account.c.login_prohibited,
        )
    )
    return await fetch_first(db, statement, SessionHolderRow)


async def get_provider(db: Executor, sha256: bytes) -> ProviderSessionRow | None:
    """Return the provider's data of a session; None if it began without a provider."""
    statement = select(browser_session.c.source_id, browser_session.c.sealed_id_token).where(
        browser_session.c.sha256 == sha256, browser_session.c.source_id != LOCAL
    )
    return await fetch_first(db, statement, ProviderSessionRow)


async def get_provider_of(db: Executor, account_id: int, session_id: int) -> ProviderSessionRow | None:
    """Return the provider's data of a session of the account; None if it began without a provider."""
    statement = select(browser_session.c.source_id, browser_session.c.sealed_id_token).where(
        browser_session.c.id == session_id,
        browser_session.c.account_id == account_id,
        browser_session.c.source_id != LOCAL,
    )
    return await fetch_first(db, statement, ProviderSessionRow)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[BrowserSessionRow], int]:
    """Return a page of the sessions of an account that have not ended, latest first."""
    own = (browser_session.c.account_id == account_id, browser_session.c.expires_at > now())
    statement = select(browser_session).where(*own)
    return await fetch_page(db, statement, page, BrowserSessionRow, browser_session.c.id.desc())


async def mark_used(db: Executor, session_id: int) -> None:
    await db.execute(update(browser_session).where(browser_session.c.id == session_id).values(used_at=now()))


async def get_proof_time(db: Executor, account_id: int, session_id: int) -> datetime | None:
    """Return the time of the last proof in a session of an account; None if it has no such session."""
    time = func.coalesce(browser_session.c.proved_at, browser_session.c.created_at)
    own = (browser_session.c.id == session_id, browser_session.c.account_id == account_id)
    return (await db.execute(select(type_coerce(time, UtcDateTime)).where(*own))).scalar()


async def mark_proved(db: Executor, session_id: int) -> None:
    await db.execute(
        update(browser_session).where(browser_session.c.id == session_id).values(proved_at=now())
    )


async def remove(db: Executor, sha256: bytes) -> int | None:
    """Delete a session. Return the id of its account, or None if it does not exist."""
    statement = delete(browser_session).where(browser_session.c.sha256 == sha256)
    return (await db.execute(statement.returning(browser_session.c.account_id))).scalar()


async def remove_of(db: Executor, account_id: int, session_id: int) -> bool:
    """Delete a session of an account. Return False if it has no such session."""
    statement = delete(browser_session).where(
        browser_session.c.account_id == account_id, browser_session.c.id == session_id
    )
    return (await db.execute(statement.returning(browser_session.c.id))).scalar() is not None


async def remove_of_source(
    db: Executor, source_id: int, *, provider_session: str = "", account_id: int = 0
) -> set[int]:
    """Delete sessions that a provider began: by the provider's session, by account, or both.

    Return their accounts. Without session and account, nothing is deleted.
    """
    ended = [browser_session.c.source_id == source_id]
    if provider_session:
        ended.append(browser_session.c.provider_session == provider_session)
    if account_id:
        ended.append(browser_session.c.account_id == account_id)
    if len(ended) == 1:
        return set()
    statement = delete(browser_session).where(*ended).returning(browser_session.c.account_id)
    return set((await db.execute(statement)).scalars())


async def remove_of_account(db: Executor, account_id: int) -> None:
    await db.execute(delete(browser_session).where(browser_session.c.account_id == account_id))


async def remove_expired(db: Executor) -> None:
    await db.execute(delete(browser_session).where(browser_session.c.expires_at <= now()))
