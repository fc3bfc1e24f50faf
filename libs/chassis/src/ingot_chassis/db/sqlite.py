"""How connections to SQLite are set up."""

import sqlite3
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine


def configure_engine(engine: AsyncEngine, *, writes: bool) -> None:
    """Set up every connection of ``engine``; one that ``writes`` takes the write lock as it begins."""
    event.listen(engine.sync_engine, "connect", _configure_connection)
    if writes:
        event.listen(engine.sync_engine, "begin", _begin_immediate)


def _configure_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    # SQLite's own knows A to Z only, so that nobody would find an Ä in what has one.
    connection.create_function("lower", 1, _lower, deterministic=True)


def configure_short_reads(connection: sqlite3.Connection) -> None:
    """Set up a connection that only reads."""
    connection.execute("PRAGMA query_only=ON")
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(value: Any) -> str | None:
    return None if value is None else str(value).lower()


def _begin_immediate(connection: Any) -> None:
    # Taking the write lock first avoids SQLITE_BUSY when a read inside the transaction turns into a write.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
