"""Creates and changes users in the data folder, by the rules of identity. The server may run in parallel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy.exc import DatabaseError

from ingot_chassis.db.audit import OPERATOR, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.migrations import pending
from ingot_chassis.errors import ApiError, CannotStart, DatabaseNewer
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as store
from ingot_identity.accounts.store.tables import metadata
from ingot_identity.migrations import SCRIPTS
from ingot_identity.passwords.rules.hashing import Passwords
from ingot_identity.settings import Settings
from ingot_identity.users import rules as accounts
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.settings import ServiceSettingsReader


class Identity(NamedTuple):
    """Objects that the use cases of identity need."""

    database: Database
    presenter: Presenter
    passwords: Passwords


async def ensure_administrator(folder: DataFolder, *, name: str, email: str, password: str) -> bool:
    """Create the first administrator. Return False if an administrator exists. Raises CannotStart."""
    async with _identity(folder) as identity:
        return await accounts.ensure_administrator(*identity, login=name, email=email, password=password)


async def create_user(
    folder: DataFolder, *, name: str, email: str, full_name: str, password: str, admin: bool
) -> None:
    """Create a user who may sign in at once. Raises CannotStart."""
    async with _identity(folder) as identity:
        password_hash = await identity.passwords.hash(password)
        async with identity.database.transaction() as tx:
            row = await accounts.create_user(
                tx,
                identity.presenter,
                login=name,
                email=email,
                full_name=full_name,
                password_hash=password_hash,
                admin=admin,
            )
            await add_entry(tx, OPERATOR, "user.create", f"user {row.login}", {"id": row.id, "admin": admin})


async def reset_password(folder: DataFolder, *, name: str, password: str) -> None:
    """Replace the password of a user. Raises CannotStart."""
    async with _identity(folder) as identity:
        password_hash = await identity.passwords.hash(password)
        async with identity.database.transaction() as tx:
            row = await store.get_by_login(tx, name)
            if row is None or row.kind != "user":
                raise CannotStart(f"there is no user {name!r}")
            await accounts.edit_user(tx, identity.presenter, row.id, {"password_hash": password_hash})
            await add_entry(tx, OPERATOR, "user.edit", f"user {row.login}", {"fields": ["password"]})


@asynccontextmanager
async def _identity(folder: DataFolder) -> AsyncIterator[Identity]:
    """Yield the objects of identity on the data folder. Convert errors of identity to CannotStart.

    The message has one line for each error.
    """
    url = folder.existing_database_url("identity")
    service_settings = ServiceSettingsReader({"public_url": folder.public_url()})
    settings = service_settings.read(Settings, "identity")
    service_settings.check()
    try:
        if await pending(url, SCRIPTS):
            raise CannotStart(
                f"{folder.path} is of an older release; start with: ingot up --data {folder.path}"
            )
        database = Database(url, metadata)
        try:
            yield Identity(
                database,
                Presenter(settings.public_url, settings.noreply_address),
                Passwords(
                    memory_kib=settings.password_memory_kib,
                    rounds=settings.password_rounds,
                    length=settings.password_length,
                ),
            )
        finally:
            await database.close()
    except ApiError as error:
        details = "; ".join(f"{field.field} {field.message}" for field in error.errors)
        raise CannotStart(details or str(error)) from error
    except DatabaseNewer as error:
        raise CannotStart(f"{folder.path}: {error}; use the release that wrote it") from error
    except DatabaseError as error:
        raise CannotStart(f"cannot use {folder.database_file('identity')}: {error.orig}") from error
