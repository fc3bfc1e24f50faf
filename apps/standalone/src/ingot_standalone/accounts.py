"""Users made and changed on the data folder itself, by the rules of identity, also while the server runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import DatabaseError

from ingot_chassis.database import Database
from ingot_chassis.errors import ApiError
from ingot_chassis.migrations import DatabaseNewer, pending
from ingot_chassis.server import CannotStart
from ingot_identity.app import SCRIPTS
from ingot_identity.core import accounts
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.views import Viewing
from ingot_identity.settings import Settings as IdentitySettings
from ingot_identity.store import accounts as store
from ingot_identity.store.tables import metadata
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.settings import ForServices


async def ensure_administrator(
    folder: DataFolder, public_url: str, *, name: str, email: str, password: str
) -> bool:
    """Create the first administrator; False when there is one. Raises CannotStart."""
    async with _database(folder) as database:
        return await accounts.ensure_administrator(
            database, _viewing(public_url), Passwords(), login=name, email=email, password=password
        )


async def create_user(
    folder: DataFolder, *, name: str, email: str, full_name: str, password: str, admin: bool
) -> None:
    """Create a user who may sign in at once. Raises CannotStart."""
    async with _database(folder) as database:
        password_hash = await Passwords().hash(password)
        async with database.transaction() as tx:
            await accounts.create_user(
                tx,
                _viewing(folder.public_url()),
                login=name,
                email=email,
                full_name=full_name,
                password_hash=password_hash,
                admin=admin,
            )


async def reset_password(folder: DataFolder, *, name: str, password: str) -> None:
    """Replace the password of a user. Raises CannotStart."""
    async with _database(folder) as database:
        password_hash = await Passwords().hash(password)
        async with database.transaction() as tx:
            row = await store.get_by_login(tx, name)
            if row is None or row.kind != "user":
                raise CannotStart(f"there is no user {name!r}")
            await accounts.set_password(tx, row.id, password_hash)


@asynccontextmanager
async def _database(folder: DataFolder) -> AsyncIterator[Database]:
    """Identity's database; what its rules refuse becomes a line for the operator."""
    url = folder.existing_database_url("identity")
    try:
        if await pending(url, SCRIPTS):
            raise CannotStart(
                f"{folder.path} is of an older release; start with: ingot up --data {folder.path}"
            )
        database = Database(url, metadata)
        try:
            yield database
        finally:
            await database.close()
    except ApiError as error:
        details = "; ".join(f"{field.field} {field.message}" for field in error.errors)
        raise CannotStart(details or str(error)) from error
    except DatabaseNewer as error:
        raise CannotStart(f"{folder.path}: {error}; use the release that wrote it") from error
    except DatabaseError as error:
        raise CannotStart(f"cannot use {folder.database_file('identity')}: {error.orig}") from error


def _viewing(public_url: str) -> Viewing:
    settings = ForServices({}).read(IdentitySettings, "identity")
    return Viewing(public_url or settings.public_url, settings.noreply_address)
