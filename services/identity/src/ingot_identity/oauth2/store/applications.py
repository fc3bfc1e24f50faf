"""SQL for OAuth2 applications."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db import transaction
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_count, fetch_first, fetch_page
from ingot_identity.oauth2.store.tables import OAuth2ApplicationRow, oauth2_application


async def add(db: Executor, **values: Any) -> int:
    """Insert an application. Return its id."""
    statement = insert(oauth2_application).values(created_at=now(), **values)
    return int((await db.execute(statement.returning(oauth2_application.c.id))).scalar_one())


async def save_built_in(db: Executor, applications: Sequence[Mapping[str, Any]]) -> None:
    """Insert built-in applications, or update the rows with the same client ids."""
    statement = transaction.insert(db, oauth2_application)
    names = ("name", "redirect_uris", "confidential", "skip_consent")
    statement = statement.on_conflict_do_update(
        index_elements=["client_id"], set_={name: statement.excluded[name] for name in names}
    )
    await db.execute(statement, [{"created_at": now(), **values} for values in applications])


async def remove_built_in(db: Executor) -> None:
    """Delete the built-in applications, with all grants to them."""
    await db.execute(delete(oauth2_application).where(oauth2_application.c.account_id.is_(None)))


async def count(db: Executor, account_id: int) -> int:
    return await fetch_count(
        db, select(oauth2_application.c.id).where(oauth2_application.c.account_id == account_id)
    )


async def get(db: Executor, account_id: int, application_id: int) -> OAuth2ApplicationRow | None:
    """Return the application; None if it does not belong to the account."""
    statement = select(oauth2_application).where(
        oauth2_application.c.account_id == account_id, oauth2_application.c.id == application_id
    )
    return await fetch_first(db, statement, OAuth2ApplicationRow)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[OAuth2ApplicationRow], int]:
    """Return a page of the applications of an account, latest first, and their number."""
    statement = select(oauth2_application).where(oauth2_application.c.account_id == account_id)
    return await fetch_page(db, statement, page, OAuth2ApplicationRow, oauth2_application.c.id.desc())


async def change(db: Executor, application_id: int, **values: Any) -> None:
    await db.execute(
        update(oauth2_application).where(oauth2_application.c.id == application_id).values(**values)
    )


async def remove(db: Executor, account_id: int, application_id: int) -> bool:
    """Delete an application with all grants to it. Return False if the account has no such application."""
    deleted = await db.execute(
        delete(oauth2_application).where(
            oauth2_application.c.account_id == account_id, oauth2_application.c.id == application_id
        )
    )
    return deleted.rowcount == 1
