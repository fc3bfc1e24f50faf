"""Finds problems in a data folder, and repairs some of them on request. The server may run in parallel."""

from sqlalchemy import MetaData
from sqlalchemy.exc import DatabaseError

import ingot_repos.settings
from ingot_chassis.db.database import Database
from ingot_chassis.db.migrations import pending
from ingot_chassis.db.tables import chassis_tables
from ingot_chassis.errors import CannotStart, DatabaseNewer
from ingot_chassis.events.doctor import examine, examine_space
from ingot_chassis.objects.store import ObjectStore
from ingot_git.storage.storage import Storage
from ingot_hooks.deliveries.jobs.lag import examine_deliveries
from ingot_mail.mails.jobs.retention import examine_mails
from ingot_repos.upkeep.rules.examinations import examine_storage
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.schemas import SCHEMAS
from ingot_standalone.settings import ServiceSettingsReader


async def findings(folder: DataFolder, *, repair: bool = False) -> list[str]:
    """Return one line for each problem of any service, and of the folder itself. Raises CannotStart."""
    lines = [line for service in SCHEMAS for line in await _findings_of(service, folder, repair)]
    return [*lines, *examine_space("disk", folder.path)]


async def _findings_of_files(folder: DataFolder, database: Database, repair: bool) -> list[str]:
    reader = ServiceSettingsReader({})
    settings = reader.read(ingot_repos.settings.Settings, "repos")
    reader.check()
    objects = ObjectStore(
        settings.objects_url or folder.files.as_uri(),
        prefix="repos",
        key_id=settings.objects_key_id,
        secret=settings.objects_secret,
    )
    try:
        storage = Storage(folder.repositories)
        return await examine_storage(database, storage, objects, settings.shard, repair=repair)
    finally:
        await objects.close()


async def _findings_of(service: str, folder: DataFolder, repair: bool) -> list[str]:
    older = [f"{service}: {folder.path} is of an older release; start `ingot up` with it once"]
    if folder.is_older_than(service):
        return older
    url = folder.existing_database_url(service)
    tables = MetaData()
    chassis_tables(tables)
    try:
        if await pending(url, SCHEMAS[service]):
            return older
        database = Database(url, tables)
        try:
            lines = await examine(service, database)
            if service == "hooks":
                lines += await examine_deliveries(database)
            if service == "mail":
                lines += await examine_mails(database)
            if service == "repos":
                lines += await _findings_of_files(folder, database, repair)
            return lines
        finally:
            await database.close()
    except DatabaseNewer as error:
        raise CannotStart(f"{folder.path}: {error}; use the release that wrote it") from error
    except DatabaseError as error:
        raise CannotStart(f"cannot use {folder.database_file(service)}: {error.orig}") from error
