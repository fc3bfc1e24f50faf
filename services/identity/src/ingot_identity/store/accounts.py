"""SQL for users and organizations."""

from typing import Any, Literal

from sqlalchemy import Row, bindparam, delete, func, or_, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.paging import Page
from ingot_chassis.tables import BigId, now
from ingot_identity.store.tables import account, email

AccountRow = Row[Any]

Hold = Literal["keep", "change", "delete"]
"""What the holder is about to do. Any number keep an account at once, also while one changes it."""

# Every request needs one of them.
_BY_ID = Lookup(select(account).where(account.c.id == bindparam("account_id", type_=BigId)))
_BY_LOGIN = Lookup(select(account).where(account.c.lower_login == bindparam("login")))


async def add(db: Executor, **values: Any) -> int | None:
    """Insert an account; its id, or None when the name is taken in any letter case."""
    values |= {"lower_login": values["login"].lower(), "created_at": now(), "updated_at": now()}
    statement = insert(db, account).values(values).on_conflict_do_nothing().returning(account.c.id)
    return (await db.execute(statement)).scalar()


async def get(db: Executor, account_id: int) -> AccountRow | None:
    return await _BY_ID.first(db, account_id=account_id)


async def lock(db: Executor, account_id: int, hold: Hold) -> AccountRow | None:
    """The account, held until the transaction ends."""
    statement = select(account).where(account.c.id == account_id)
    held = statement.with_for_update(read=hold == "keep", key_share=hold != "delete")
    return (await db.execute(held)).first()


async def get_by_login(db: Executor, login: str) -> AccountRow | None:
    return await _BY_LOGIN.first(db, login=login.lower())


async def get_by_email(db: Executor, address: str) -> AccountRow | None:
    """The user whose primary address it is."""
    statement = (
        select(account)
        .join(email, email.c.account_id == account.c.id)
        .where(email.c.address == address.lower(), email.c.is_primary)
    )
    return (await db.execute(statement)).first()


async def change(db: Executor, account_id: int, **values: Any) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(updated_at=now(), **values))


async def rename(db: Executor, account_id: int, login: str) -> bool:
    """Give another name; False when it is taken in any letter case."""
    held = await get_by_login(db, login)
    if held is None:
        # An insert waits for whoever is taking the name and then knows; an update would fail with an error.
        placeholder = await add(db, kind="user", login=login)
        if placeholder is None:
            return False
        await remove(db, placeholder)
    elif held.id != account_id:
        return False
    await change(db, account_id, login=login, lower_login=login.lower())
    return True


async def remove(db: Executor, account_id: int) -> None:
    """Delete an account with all that hangs on it."""
    await db.execute(delete(account).where(account.c.id == account_id))


async def search_users(db: Executor, text: str, page: Page) -> tuple[list[AccountRow], int]:
    """Users whose name or full name contains ``text``, ignoring case, by name; and how many there are."""
    wanted = account.c.kind == "user"
    if text:
        pattern = text.lower()
        wanted &= or_(
            account.c.lower_login.contains(pattern, autoescape=True),
            func.lower(account.c.full_name).contains(pattern, autoescape=True),
        )
    rows = await db.execute(
        select(account).where(wanted).order_by(account.c.lower_login).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(account).where(wanted))
    return list(rows.all()), int(total.scalar_one())


async def any_administrator(db: Executor) -> bool:
    return (await db.execute(select(account.c.id).where(account.c.admin).limit(1))).first() is not None


async def lock_administrators(db: Executor) -> list[int]:
    """Ids of the administrators who may sign in, held, so that the last two cannot go at once."""
    rows = await db.execute(
        select(account.c.id)
        .where(account.c.admin, account.c.active, ~account.c.login_prohibited)
        .order_by(account.c.id)
        .with_for_update(key_share=True)
    )
    return [row.id for row in rows]
