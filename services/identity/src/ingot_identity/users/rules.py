"""Creation and changes of users."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.audit import OPERATOR, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid
from ingot_contracts.identity.events import UserCreated
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.edits import announce_edit, get_account
from ingot_identity.accounts.rules.former_names import rename, take_name
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as store
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.emails import rules as emails
from ingot_identity.emails import store as email_store
from ingot_identity.keys.store import ssh as ssh_keys
from ingot_identity.messages.rules import Messages
from ingot_identity.oauth2.rules import flow
from ingot_identity.passwords.rules.hashing import Passwords
from ingot_identity.sources.rules import identities
from ingot_identity.sources.store import identities as identity_store
from ingot_identity.sources.store import mapped_members
from ingot_identity.sources.store.tables import LOCAL

CREDENTIAL_COLUMNS = {"password_hash", "active", "login_prohibited", "admin", "restricted"}
"""Columns on which a cached credential depends. A change of one revokes the credential everywhere."""


SUPPORTED: dict[str, object] = {
    "visibility": "public",
    "max_repo_creation": -1,
}
"""Fields that restrict users, with the only value that is supported. Other values would have no effect."""
IGNORED = ("allow_git_hook", "allow_import_local")
"""Permissions for features that Ingot does not have."""


def require_supported(fields: dict[str, Any]) -> dict[str, Any]:
    """Return ``fields`` without those that have only one value. Raises Invalid for another value."""
    for field, value in SUPPORTED.items():
        if fields.get(field, value) != value:
            text = msgspec.json.encode(value).decode()
            raise Invalid.field(field, "unsupported", f"can only be {text} on this server")
    return {field: value for field, value in fields.items() if field not in (*SUPPORTED, *IGNORED)}


async def create_user(
    tx: Tx,
    presenter: Presenter,
    *,
    login: str,
    email: str,
    password_hash: str,
    email_confirmed: bool = True,
    created_at: datetime | None = None,
    source_id: int = LOCAL,
    login_name: str = "",
    **details: Any,
) -> AccountRow:
    """Create a user who may sign in at once. Return the row. ``details`` are further columns. Raises Invalid.

    ``created_at`` is for users who are imported from another server. ``login_name`` is the id of the person
    at the source.
    """
    if created_at is not None and created_at > now():
        raise Invalid.field("created_at", "future", "is in the future")
    names.check_login(login)
    address = names.check_email(email)
    account_id = await store.add(
        tx,
        kind=AccountKind.USER,
        login=login,
        email=address,
        password_hash=password_hash,
        created_at=created_at or now(),
        **details,
    )
    if account_id is None:
        raise Invalid.field("username", "taken", f"{login!r} is taken")
    await take_name(tx, login, account_id, field="username")
    if not await email_store.add(
        tx, account_id, {address: email}, is_primary=True, confirmed=email_confirmed
    ):
        raise Invalid.field("email", "taken", f"{address!r} is in use")
    row = await get_account(tx, account_id)
    if source_id != LOCAL or login_name:
        await identities.assign(tx, row, source_id, login_name)
        row = await get_account(tx, account_id)
    tx.emit(UserCreated(account=presenter.account(row)), key=account_id)
    return row


async def ensure_administrator(
    db: Database, presenter: Presenter, passwords: Passwords, *, login: str, email: str, password: str
) -> bool:
    """Create an administrator unless one exists. Return whether one was created. Raises Invalid."""
    async with db.read() as reader:
        if await store.any_administrator(reader):
            return False
    password_hash = await passwords.hash(password)
    async with db.transaction() as tx:
        await tx.advisory_lock("first administrator")  # replicas start at the same time
        if await store.any_administrator(tx):
            return False
        row = await create_user(
            tx, presenter, login=login, email=email, password_hash=password_hash, admin=True
        )
        await add_entry(tx, OPERATOR, "user.create", f"user {row.login}", {"id": row.id, "admin": True})
    return True


async def edit_user(tx: Tx, presenter: Presenter, account_id: int, changes: dict[str, Any]) -> AccountRow:
    """Change only the columns in ``changes``, and return the new row. Raises Invalid, NotFound."""
    before = await _lock_for_edit(tx, account_id, changes)
    changes = dict(changes)
    if changes.keys() & {"source_id", "login_name"}:
        source_id, login_name = changes.pop("source_id", before.source_id), changes.pop("login_name", None)
        stays = source_id == before.source_id
        await identities.assign(
            tx,
            before,
            source_id,
            login_name if login_name is not None else before.login_name if stays else "",
        )
        await ssh_keys.remove_unlinked(tx, account_id)
    if "email" in changes:
        changes["email"] = await emails.set_primary(tx, account_id, changes["email"])
    if changes:
        await store.change(tx, account_id, **changes)
    if "password_hash" in changes:
        await flow.end_all(tx, account_id)
    return await announce_edit(tx, presenter, before, revoked=bool(CREDENTIAL_COLUMNS & set(changes)))


async def _lock_for_edit(tx: Tx, account_id: int, changes: dict[str, Any]) -> AccountRow:
    """Lock a user, and before it the administrators if the user may cease to be one."""
    if not (changes.get("admin", True) and changes.get("active", True)) or changes.get("login_prohibited"):
        await require_another_administrator(tx, account_id)
    return await lock_for_update(tx, account_id)


async def edit_user_by_hand(
    tx: Tx, presenter: Presenter, messages: Messages, account_id: int, changes: dict[str, Any]
) -> AccountRow:
    """Change a user as ``edit_user`` does, and send a mail about a new address to the former one.

    No source activates an account that is deactivated by hand. Raises Conflict for a change of a right that
    groups of a source gave.
    """
    row = await _lock_for_edit(tx, account_id, changes)
    if changes.get("admin", row.admin) != row.admin and (
        title := await mapped_members.source_of_column(tx, account_id, "admin")
    ):
        raise Conflict(f"the groups of {title} make this user an administrator; change them there")
    if changes.get("restricted", row.restricted) != row.restricted and (
        title := await mapped_members.source_of_column(tx, account_id, "restricted")
    ):
        raise Conflict(f"the groups of {title} make this user restricted; change them there")
    former = await email_store.get_primary(tx, account_id)
    edited = await edit_user(tx, presenter, account_id, changes)
    if not changes.get("active", True):
        await identity_store.forget_deactivation(tx, account_id)
    if former is not None and former.confirmed_at is not None and former.address != edited.email:
        fields = {"new_address": edited.email}
        await messages.request(
            tx, "address_changed", address=former.address, account_id=account_id, fields=fields
        )
    return edited


async def rename_user(
    tx: Tx, presenter: Presenter, account_id: int, login: str, *, reserved_for: timedelta
) -> AccountRow:
    """Rename a user, and reserve the old name for that long. Return the new row.

    Raises Invalid, NotFound.
    """
    before = await lock_for_update(tx, account_id)
    await rename(tx, before, login, field="new_username", reserved_for=reserved_for)
    return await announce_edit(tx, presenter, before, revoked=False)


async def require_another_administrator(tx: Tx, account_id: int) -> None:
    """Raise Invalid for the last administrator who may sign in.

    Locks all administrators, so call it before any other lock.
    """
    if await store.lock_administrators(tx) == [account_id]:
        raise Invalid.field("username", "last_administrator", "is the last administrator")
