"""SQL for sign-ins in a browser."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_first, fetch_page
from ingot_identity.store.oauth2_tables import BrowserSessionRow, browser_session
from ingot_identity.store.tables import AccountRow, account


class SessionHolderRow(AccountRow):
    """The account that is signed in, since when, and the session."""

    signed_in_at: datetime
    session_id: int
    used_at: datetime | None


async def add(db: Executor, account_id: int, **values: Any) -> None:
    present = now()
    await db.execute(
        insert(browser_session).values(account_id=account_id, created_at=present, used_at=present, **values)
    )


async def get(db: Executor, sha256: bytes) -> SessionHolderRow | None:
    """Who is signed in; None when the session ended, or the account may not sign in any more."""
    statement = (
        select(
            account,
            browser_session.c.created_at.label("signed_in_at"),
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


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[BrowserSessionRow], int]:
    """Those of an account that have not ended, newest first."""
    own = (browser_session.c.account_id == account_id, browser_session.c.expires_at > now())
    statement = select(browser_session).where(*own)
    return await fetch_page(db, statement, page, BrowserSessionRow, browser_session.c.id.desc())


async def mark_used(db: Executor, session_id: int) -> None:
    await db.execute(update(browser_session).where(browser_session.c.id == session_id).values(used_at=now()))


async def remove(db: Executor, sha256: bytes) -> int | None:
    """End a session; the account that was signed in."""
    statement = delete(browser_session).where(browser_session.c.sha256 == sha256)
    return (await db.execute(statement.returning(browser_session.c.account_id))).scalar()


async def remove_of(db: Executor, account_id: int, session_id: int) -> bool:
    """End a session of an account; False when it has no such session."""
    statement = delete(browser_session).where(
        browser_session.c.account_id == account_id, browser_session.c.id == session_id
    )
    return (await db.execute(statement.returning(browser_session.c.id))).scalar() is not None


async def remove_of_account(db: Executor, account_id: int) -> None:
    await db.execute(delete(browser_session).where(browser_session.c.account_id == account_id))


async def remove_expired(db: Executor) -> None:
    await db.execute(delete(browser_session).where(browser_session.c.expires_at <= now()))
