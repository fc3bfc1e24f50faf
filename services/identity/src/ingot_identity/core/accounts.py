"""Making and changing users."""

from typing import Any

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import CredentialsRevoked, UserCreated
from ingot_identity.core import names
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.views import Viewing
from ingot_identity.store import accounts as store


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
    if not await store.add_email(tx, account_id, address, is_primary=True):
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


async def set_password(tx: Tx, account_id: int, password_hash: str) -> None:
    """Replace the password and forget everywhere who the old one was."""
    await store.change(tx, account_id, password_hash=password_hash)
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)


async def existing(tx: Tx, account_id: int) -> Any:
    """The row. Raises NotFound."""
    row = await store.get(tx, account_id)
    if row is None:
        raise NotFound
    return row
