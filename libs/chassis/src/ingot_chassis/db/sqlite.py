"""Setup of connections to SQLite, and statements for its driver."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Dialect, event
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

LONGEST_VALUE = 16 * 1024
"""Bytes of a text or BLOB in a short read. A hundred such values take three milliseconds."""


def configure_engine(engine: AsyncEngine) -> None:
    """Set up every connection of ``engine``."""
    event.listen(engine.sync_engine, "connect", _configure_connection)


def _configure_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    # SQLite's own function knows only A to Z, so a search for "ä" would not find "Ä".
    connection.create_function("lower", 1, _lower, deterministic=True)


def configure_short_reads(connection: sqlite3.Connection) -> None:
    """Set up a read-only connection that fails for long values.

    The limit of instructions does not cover long values, because SQLite does not count bytes that it copies.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA query_only=ON")
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(value: Any) -> str | None:
    return None if value is None else str(value).lower()


class SqliteStatement:
    """A statement for SQLite's driver. Its values and rows are converted like in SQLAlchemy.

    ``constants`` are the values of ``compiled`` that are equal in every call. ``columns`` are the types of
    its rows.
    """

    def __init__(
        self,
        compiled: SQLCompiler,
        constants: dict[str, Any],
        columns: Sequence[TypeEngine[Any]],
        dialect: Dialect,
    ) -> None:
        self.sql = compiled.string
        self._constants = constants
        self._binds = [
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup or ()
        ]
        self._columns = [kind.dialect_impl(dialect).result_processor(dialect, None) for kind in columns]
        self._converts = any(self._columns)

    def values(self, by_name: dict[str, Any]) -> list[Any]:
        """Return the converted values, with the constants, in the order of the placeholders in the SQL.

        Raises KeyError for a missing value.
        """
        values = {**self._constants, **by_name}
        return [convert(values[name]) if convert else values[name] for name, convert in self._binds]

    def row(self, columns: tuple[Any, ...]) -> Sequence[Any]:
        """Return the converted values of a row."""
        if not self._converts:
            return columns
        return [
            convert(value) if convert else value
            for convert, value in zip(self._columns, columns, strict=True)
        ]
