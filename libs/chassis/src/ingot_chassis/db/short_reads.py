"""Short reads on SQLite run where they are asked for: crossing into a thread and back costs more than they do (ADR 22).

What turns out to be long is given up after a number of SQLite's instructions, and run beside, as everything else is.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from sqlalchemy import Dialect, LargeBinary, Select
from sqlalchemy.types import TypeEngine

from ingot_chassis.db.sqlite import configure_short_reads

TICK = 1000
"""Instructions of SQLite's between two looks at how many there were."""
MOST_TICKS = 20
"""Ticks of a read that is short: about a millisecond. A page of 50 rows with all that is shown of them takes 12."""


class ShortReads:
    """A connection to one file that only reads, for the thread of the event loop."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._ticks = 0

    def fetch(self, sql: str, values: Sequence[Any], *, only_first: bool) -> list[tuple[Any, ...]] | None:
        """The rows; None if it is no short read, or failed: run it beside, which says why."""
        self._ticks = 0
        try:
            with closing(self._opened().execute(sql, values)) as cursor:
                return cursor.fetchmany(1) if only_first else cursor.fetchall()
        except sqlite3.Error:
            return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # Whoever would have to wait for a lock does so beside.
            self._connection = sqlite3.connect(self._file, timeout=0, isolation_level=None)
            configure_short_reads(self._connection)
            self._connection.set_progress_handler(self._is_long, TICK)
        return self._connection

    def _is_long(self) -> bool:
        self._ticks += 1
        return self._ticks > MOST_TICKS


class SqliteStatement:
    """A SELECT as SQLite's own driver takes it: its values and rows are converted as SQLAlchemy would do it."""

    def __init__(self, statement: Select[Any], dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.sql = compiled.string
        self._binds = [
            (name, compiled.binds[name].value, _to_driver(compiled.binds[name].type, dialect))
            for name in compiled.positiontup or ()
        ]
        self._columns = [_from_driver(column.type, dialect) for column in statement.selected_columns]
        self._converts = any(self._columns)
        self._has_bytes = any(isinstance(column.type, LargeBinary) for column in statement.selected_columns)

    @property
    def may_be_short(self) -> bool:
        """False where SQLAlchemy writes lists into the text, or rows have bytes: SQLite does not count those it copies."""
        return "POSTCOMPILE" not in self.sql and not self._has_bytes

    def values(self, by_name: dict[str, Any]) -> list[Any]:
        """In the order of the text. Raises KeyError for one that is missing."""
        ordered = []
        for name, constant, convert in self._binds:
            value = by_name[name] if constant is None else by_name.get(name, constant)
            ordered.append(convert(value) if convert else value)
        return ordered

    def row(self, columns: tuple[Any, ...]) -> Sequence[Any]:
        """The values of a row."""
        if not self._converts:
            return columns
        return [
            convert(value) if convert else value
            for convert, value in zip(self._columns, columns, strict=True)
        ]


def _to_driver(kind: TypeEngine[Any], dialect: Dialect) -> Any:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _from_driver(kind: TypeEngine[Any], dialect: Dialect) -> Any:
    return kind.dialect_impl(dialect).result_processor(dialect, None)
