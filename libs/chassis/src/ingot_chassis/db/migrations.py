"""Migrations of a service's database with Alembic, under a lock, and the check of the schema at start.

Alembic is imported only for a migration, because the import slows every start and takes memory. The revision
of the code is read from the names of the scripts, which begin with their revisions. The database itself
states which older code can use it.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog
from sqlalchemy import Connection, MetaData, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.errors import DatabaseNewer

log = structlog.get_logger()

LOCK_KEY = 1229866837
OLDEST_CODE = "oldest_code"
"""Name of a variable in a migration that drops something: the oldest code that still runs afterwards.

``upgrade`` stores the revision in a table of this name with one row. Older code reads it there, because it
lacks the migration.
"""


def revisions(scripts: Path) -> Sequence[str]:
    """Return the revisions of a service, the oldest first."""
    return sorted(script.name.partition("_")[0] for script in (scripts / "versions").glob("*_*.py"))


async def upgrade(url: str, scripts: Path) -> None:
    """Bring the database at ``url`` to the newest revision in ``scripts``. Raises DatabaseNewer.

    One process migrates while the others wait. The wait for the lock of a busy table ends after 10 s with an
    error.
    """
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text(f"SELECT pg_advisory_lock({LOCK_KEY})"))
                await connection.execute(text("SET lock_timeout = '10s'"))
                await connection.commit()
            else:
                # Under the lock: connections that change the mode at the same time are rejected.
                await connection.execute(text("PRAGMA journal_mode=WAL"))
            await connection.run_sync(_upgrade, scripts)
            await connection.commit()
    finally:
        await engine.dispose()


async def check_connection(url: str) -> None:
    """Connect once. Raises the error of the database or the network."""
    engine = create_async_engine(url)
    try:
        async with engine.connect():
            pass
    finally:
        await engine.dispose()


async def pending(url: str, scripts: Path) -> bool:
    """Return whether the database is older than the code.

    Raises DatabaseNewer if it is newer and does not support the code.
    """
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_is_older, scripts)
    finally:
        await engine.dispose()


def _is_older(connection: Connection, scripts: Path) -> bool:
    current, own = _current(connection), revisions(scripts)
    if current is None or current in own:
        return current != own[-1]
    oldest = _oldest_code(connection)
    if oldest is None or own[-1] < oldest:
        raise DatabaseNewer(f"the database is at revision {current}, which this release does not know")
    log.warning(
        "the database is newer than this release, which runs on it all the same",
        revision=current,
        oldest_code=oldest,
    )
    return False


def _current(connection: Connection) -> str | None:
    """Return the revision that Alembic stored, or None in a new database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _oldest_code(connection: Connection) -> str | None:
    """Return the oldest code that can use the database; None if no migration has stored it yet."""
    if not inspect(connection).has_table(OLDEST_CODE):
        return None
    return connection.execute(text("SELECT revision FROM oldest_code")).scalar()


def _upgrade(connection: Connection, scripts: Path) -> None:
    if not _is_older(connection, scripts):
        return
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.attributes["connection"] = connection
    own = revisions(scripts)
    log.info("migrating the database", revision=_current(connection), to=own[-1])
    modules = [script.module for script in ScriptDirectory.from_config(config).walk_revisions()]
    _write_oldest_code(connection, max(getattr(module, OLDEST_CODE, own[0]) for module in modules))
    command.upgrade(config, "head")
    log.info("database migrated", scripts=scripts.parent.name)


def _write_oldest_code(connection: Connection, revision: str) -> None:
    """Store the revision before the first step, because some steps commit by themselves."""
    connection.execute(text("CREATE TABLE IF NOT EXISTS oldest_code (revision VARCHAR(32) NOT NULL)"))
    connection.execute(text("DELETE FROM oldest_code"))
    connection.execute(text("INSERT INTO oldest_code VALUES (:revision)"), {"revision": revision})


def _log_progress(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    del ctx, heads, run_args
    log.info("revision applied", revision=step.up_revision_id, what=step.up_revision.doc)


def is_compared(name: str | None, kind: str, _parents: object) -> bool:
    """Return whether Alembic compares an object of the database with the declared tables.

    Excludes tables of this module and SQLite's trigram tables.
    """
    return kind != "table" or (name != OLDEST_CODE and "_trigrams" not in (name or ""))


def declared_tables(package: ModuleType) -> MetaData:
    """Import every store module of a service. Return the metadata with their tables."""
    metadatas = set[MetaData]()
    for listed in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if "store" in listed.name.split("."):
            module = importlib.import_module(listed.name)
            metadatas |= {value for value in vars(module).values() if isinstance(value, MetaData)}
    (metadata,) = metadatas
    return metadata


def run_env(target_metadata: object) -> None:
    """Run the migrations. A service's ``env.py`` only calls this function."""
    from alembic import context

    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=target_metadata,  # type: ignore[arg-type]
        transactional_ddl=True,
        include_name=is_compared,
        render_as_batch=connection.dialect.name == "sqlite",
        on_version_apply=_log_progress,
    )
    with context.begin_transaction():
        context.run_migrations()
