"""Schema of a service's database: Alembic, run under a lock, and the check of its age at start.

Alembic is imported only where something has to be migrated: it makes every start longer, and takes memory. So the age is
told by the names of the scripts, which begin with their revisions.
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


async def pending(url: str, scripts: Path) -> bool:
    """Whether the database is older than the code. Raises DatabaseNewer."""
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_is_older, scripts)
    finally:
        await engine.dispose()


def _is_older(connection: Connection, scripts: Path) -> bool:
    current, all_revisions = _current(connection), revisions(scripts)
    if current is not None and current not in all_revisions:
        raise DatabaseNewer(f"the database is at revision {current}, which this release does not know")
    return current != all_revisions[-1]


def _current(connection: Connection) -> str | None:
    """The revision that Alembic wrote down; None in a new database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection, scripts: Path) -> None:
    if not _is_older(connection, scripts):
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.attributes["connection"] = connection
    log.info("migrating the database", revision=_current(connection), to=revisions(scripts)[-1])
    command.upgrade(config, "head")
    log.info("database migrated", scripts=scripts.parent.parent.name)


def _tell_progress(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    del ctx, heads, run_args
    log.info("revision applied", revision=step.up_revision_id, what=step.up_revision.doc)


def is_compared(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table of a database is one that a service declares; not those in which SQLite keeps trigrams of texts."""
    return kind != "table" or "_trigrams" not in (name or "")


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
