"""Making and changing users."""

from typing import Any

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import CredentialsRevoked, UserCreated, UserEdited
from ingot_identity.core import emails, names
from ingot_identity.core.holding import held
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.views import Viewing
from ingot_identity.store import accounts as store
from ingot_identity.store import emails as email_store

SIGN_IN = {"password_hash", "active", "login_prohibited", "admin"}
"""What a remembered sign-in rests on."""


async def create_user(
    tx: Tx,
    viewing: Viewing,
    *,
    login: str,
    email: str,
    password_hash: str,
    full_name: str = "",
    admin: bool = False,
) -> Any:
    """Create a user who may sign in at once; the row. Raises Invalid."""
    names.check_login(login)
    address = names.check_email(email)
    account_id = await store.add(
        tx,
        kind="user",
        login=login,
        full_name=full_name,
        email=address,
        password_hash=password_hash,
        admin=admin,
    )
    if account_id is None:
        raise Invalid.field("username", "taken", f"{login!r} is taken")
    if not await email_store.add(tx, account_id, [address], is_primary=True):
        raise Invalid.field("email", "taken", f"{address!r} is in use")
    row = await existing(tx, account_id)
    tx.emit(UserCreated(account=viewing.account(row)), key=account_id)
    return row


async def ensure_administrator(
    db: Database, viewing: Viewing, passwords: Passwords, *, login: str, email: str, password: str
) -> bool:
    """Create the first administrator; False when there is one already, whoever that is. Raises Invalid."""
    async with db.read() as reader:
        if await store.any_administrator(reader):
            return False
    password_hash = await passwords.hash(password)
    async with db.transaction() as tx:
        if await store.any_administrator(tx):
            return False
        await create_user(tx, viewing, login=login, email=email, password_hash=password_hash, admin=True)
    return True


async def edit_user(tx: Tx, viewing: Viewing, account_id: int, changes: dict[str, Any]) -> Any:
    """Change the columns named in ``changes`` and no others; the new row. Raises Invalid, NotFound."""
    if not (changes.get("admin", True) and changes.get("active", True)) or changes.get("login_prohibited"):
        await require_another_administrator(tx, account_id)
    before = await held(tx, account_id)
    changes = dict(changes)
    if "email" in changes:
        changes["email"] = await emails.set_primary(tx, account_id, changes["email"])
    if changes:
        await store.change(tx, account_id, **changes)
    return await _announce_edit(tx, viewing, before, revoked=bool(SIGN_IN & set(changes)))


async def choose_primary_email(tx: Tx, viewing: Viewing, account_id: int, address: str) -> Any:
    """Let one of a user's addresses be the one that others are shown; its row. Raises Invalid, NotFound."""
    before = await held(tx, account_id)
    chosen = await emails.choose_primary(tx, account_id, address)
    await _announce_edit(tx, viewing, before, revoked=False)
    return chosen


async def rename_user(tx: Tx, viewing: Viewing, account_id: int, login: str) -> Any:
    """Give a user another name; the new row. Raises Invalid, NotFound."""
    before = await held(tx, account_id)
    names.check_login(login, field="new_username")
    if not await store.rename(tx, account_id, login):
        raise Invalid.field("new_username", "taken", f"{login!r} is taken")
    return await _announce_edit(tx, viewing, before, revoked=False)


async def _announce_edit(tx: Tx, viewing: Viewing, before: Any, *, revoked: bool) -> Any:
    row = await existing(tx, before.id)
    tx.emit(UserEdited(account=viewing.account(row), previous_login=before.login), key=row.id)
    if revoked:
        tx.emit(CredentialsRevoked(user_id=row.id), key=row.id)
    return row


async def require_another_administrator(tx: Tx, account_id: int) -> None:
    """Somebody must be left who may administer the site. Raises Invalid for the last one.

    Holds all administrators, so it comes before anything else is held.
    """
    if await store.lock_administrators(tx) == [account_id]:
        raise Invalid.field("username", "last_administrator", "is the last administrator")


async def existing(tx: Tx, account_id: int) -> Any:
    """The row. Raises NotFound."""
    row = await store.get(tx, account_id)
    if row is None:
        raise NotFound
    return row
