"""Schema of a service's database: Alembic, run under a lock, and the check of its age at start.

Alembic is imported only where something has to be migrated: it makes every start longer, and takes memory. So the age is
told by the names of the scripts, which begin with their revisions. The database itself says which older code runs on it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.errors import DatabaseNewer

log = structlog.get_logger()

LOCK_KEY = 1229866837
OLDEST_CODE = "oldest_code"
"""The variable of a script that drops something: the newest revision of the oldest code that runs afterwards. And the table of
one row in which ``upgrade`` writes it down for older code, which does not have that script."""


def revisions(scripts: Path) -> Sequence[str]:
    """The revisions of a service, the oldest first."""
    return sorted(script.name.partition("_")[0] for script in (scripts / "versions").glob("*_*.py"))


async def upgrade(url: str, scripts: Path) -> None:
    """Bring the database at ``url`` to the newest revision in ``scripts``. Raises DatabaseNewer.

    One process migrates, the others wait for it. A lock on a busy table is given up after 10 s, not waited for.
    """
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text(f"SELECT pg_advisory_lock({LOCK_KEY})"))
                await connection.execute(text("SET lock_timeout = '10s'"))
                await connection.commit()
            else:
                # Here, with nobody else about: connections that open at once and each want to change it are refused.
                await connection.execute(text("PRAGMA journal_mode=WAL"))
            await connection.run_sync(_upgrade, scripts)
            await connection.commit()
    finally:
        await engine.dispose()


async def reach(url: str) -> None:
    """Raises what the database, or the way to it, says when there can be no connection."""
    engine = create_async_engine(url)
    try:
        async with engine.connect():
            pass
    finally:
        await engine.dispose()


async def pending(url: str, scripts: Path) -> bool:
    """Whether the database is older than the code. Raises DatabaseNewer if it is newer and the code does not run on it."""
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
    """The revision that Alembic wrote down; None in a new database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _oldest_code(connection: Connection) -> str | None:
    """What the last migration wrote down; None if that was before there was such a table."""
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
    log.info("database migrated", scripts=scripts.parent.parent.name)


def _write_oldest_code(connection: Connection, revision: str) -> None:
    """Before the first step, and committed with it: some commit by themselves."""
    connection.execute(text("CREATE TABLE IF NOT EXISTS oldest_code (revision VARCHAR(32) NOT NULL)"))
    connection.execute(text("DELETE FROM oldest_code"))
    connection.execute(text("INSERT INTO oldest_code VALUES (:revision)"), {"revision": revision})


def _tell_progress(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    del ctx, heads, run_args
    log.info("revision applied", revision=step.up_revision_id, what=step.up_revision.doc)


def is_compared(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table of a database is one that a service declares; not what is written here, nor where SQLite keeps trigrams."""
    return kind != "table" or (name != OLDEST_CODE and "_trigrams" not in (name or ""))


def run_env(target_metadata: object) -> None:
    """The whole of a service's ``env.py``."""
    from alembic import context

    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=target_metadata,  # type: ignore[arg-type]
        transactional_ddl=True,
        include_name=is_compared,
        render_as_batch=connection.dialect.name == "sqlite",
        on_version_apply=_tell_progress,
    )
    with context.begin_transaction():
        context.run_migrations()
