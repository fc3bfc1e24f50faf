"""SQL for the copies of identity's accounts."""

from collections.abc import Collection, Sequence

from sqlalchemy import and_, bindparam, delete, literal_column, or_, select, update

from ingot_chassis.db.arrays import any_of, any_of_few
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_contracts.identity.accounts import Account
from ingot_repos.catalog.store.states import AccountKind, Visibility
from ingot_repos.catalog.store.tables import account, collaboration, repository

BATCH = 100


class UserRow(TypedRow):
    """An account in a list of users."""

    id: int
    login: str
    full_name: str
    email: str
    avatar_url: str
    profile: str | None


class AccountRow(UserRow):
    kind: AccountKind
    lower_login: str
    visibility: Visibility
    active: bool


class _EmailRow(TypedRow):
    email: str
    login: str


async def save(tx: Executor, source: Account, *, fetched: bool = False) -> None:
    """Insert or replace the copy of an account. Another copy with the same login loses this login.

    A ``fetched`` account may be older than the event that made the copy. It leaves a restriction as it is.
    """
    lower = source.login.lower()
    await tx.execute(
        update(account)
        .where(account.c.lower_login == lower, account.c.id != source.id)
        .values(lower_login="")
    )
    values = {
        "id": source.id,
        "kind": source.kind,
        "login": source.login,
        "lower_login": lower,
        "full_name": source.full_name,
        "email": source.email.lower(),
        "avatar_url": source.avatar_url,
        "visibility": source.visibility,
        "active": source.active,
        "profile": source.written_profile(),
        "hide_activity": source.hide_activity,
        "granted_only": source.granted_only,
    }
    statement = insert(tx, account).values(values)
    changes = {name: value for name, value in values.items() if not (fetched and name == "granted_only")}
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_=changes))


_BY_ID = PreparedQuery(
    select(account).where(account.c.id == bindparam("account_id", type_=BigId)), AccountRow
)


class _IdRow(TypedRow):
    id: int


async def list_copied(db: Executor, ids: Collection[int]) -> list[int]:
    """Return the ids of accounts that have a copy, among ``ids``."""
    statement = select(account.c.id).where(any_of(account.c.id, "ids"))
    return [row.id for row in await fetch_all(db, statement, _IdRow, ids=list(ids))]


async def get(db: Executor, account_id: int) -> AccountRow | None:
    return await _BY_ID.first(db, account_id=account_id)


_BY_LOGIN = PreparedQuery(select(account).where(account.c.lower_login == bindparam("login")), AccountRow)


async def get_by_login(db: Executor, login: str) -> AccountRow | None:
    return await _BY_LOGIN.first(db, login=login.lower())


async def list_by_logins(db: Executor, logins: Collection[str]) -> Sequence[AccountRow]:
    """Return the accounts with these names, in any letter case."""
    if not logins:
        return []
    lower = {login.lower() for login in logins}
    return await fetch_all(db, select(account).where(account.c.lower_login.in_(lower)), AccountRow)


async def list_by_ids(db: Executor, ids: Collection[int]) -> Sequence[AccountRow]:
    """Return the accounts with these ids."""
    if not ids:
        return []
    return await fetch_all(db, select(account).where(account.c.id.in_(ids)), AccountRow)


async def list_granted_only(db: Executor, ids: Collection[int]) -> list[int]:
    """Return the ids of restricted users among ``ids``."""
    statement = select(account.c.id).where(any_of(account.c.id, "ids"), account.c.granted_only)
    return [row.id for row in await fetch_all(db, statement, _IdRow, ids=list(ids))]


async def list_without_profile(db: Executor, after: int) -> list[int]:
    """Return ids of copies without profile columns: at most ``BATCH``, greater than ``after``.

    These copies were made before profiles were copied.
    """
    is_older = or_(account.c.profile.is_(None), account.c.hide_activity.is_(None))
    statement = select(account.c.id).where(is_older, account.c.id > after)
    return list((await db.execute(statement.order_by(account.c.id).limit(BATCH))).scalars())


async def add_profile(db: Executor, source: Account) -> None:
    """Fill the empty profile columns of a copy, unless an event has filled them since."""
    values = {"profile": source.written_profile(), "hide_activity": source.hide_activity}
    for name, value in values.items():
        is_empty = account.c.id == source.id, account.c[name].is_(None)
        await db.execute(update(account).where(*is_empty).values({name: value}))


SHOWS_ADDRESS = and_(any_of_few(account.c.email, "addresses"), account.c.email != literal_column("''"))
_BY_EMAIL = PreparedQuery(
    select(account.c.email, account.c.login).where(SHOWS_ADDRESS),
    _EmailRow,
)


async def logins_by_email(db: Executor, addresses: Collection[str]) -> dict[str, str]:
    """Return logins by lower-case address, for addresses that an account shows."""
    if not addresses:
        return {}
    lower = sorted({address.lower() for address in addresses})
    return {row.email: row.login for row in await _BY_EMAIL.all(db, addresses=lower)}


_PUSHER_AND_AUTHORS = PreparedQuery(
    select(account).where(or_(account.c.id == bindparam("account_id", type_=BigId), SHOWS_ADDRESS)),
    AccountRow,
)


async def pusher_and_authors(
    db: Executor, account_id: int, addresses: Collection[str]
) -> tuple[AccountRow | None, dict[str, str]]:
    """Return an account, and the result of ``logins_by_email``, in one statement."""
    lower = {address.lower() for address in addresses} - {""}
    rows = await _PUSHER_AND_AUTHORS.all(db, account_id=account_id, addresses=sorted(lower))
    pusher = next((row for row in rows if row.id == account_id), None)
    return pusher, {row.email: row.login for row in rows if row.email in lower}


async def remove(tx: Executor, account_id: int) -> None:
    """Delete the copy of a deleted account, and its collaborations.

    The copy stays, inactive and without a login, while the account owns repositories.
    """
    await tx.execute(delete(collaboration).where(collaboration.c.user_id == account_id))
    owns = select(repository.c.id).where(repository.c.owner_id == account_id).exists()
    await tx.execute(delete(account).where(account.c.id == account_id, ~owns))
    await tx.execute(update(account).where(account.c.id == account_id).values(active=False, lower_login=""))
