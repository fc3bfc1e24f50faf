"""Short reads on SQLite, run in the event loop.

Switching to a thread and back costs more than such a read (ADR 22). A long read is aborted after a number of
SQLite's instructions. It then runs in the driver's thread.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from ingot_chassis.db.sqlite import configure_short_reads

TICK = 1000
"""Instructions of SQLite between two checks."""
MOST_TICKS = 20
"""Ticks of a short read: about a millisecond. A page of 50 rows with all their details takes 12."""


class ShortReads:
    """A read-only connection to one file, for the thread of the event loop."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._ticks = 0

    def fetch(self, sql: str, values: Sequence[Any], *, only_first: bool) -> list[tuple[Any, ...]] | None:
        """Return the rows, or None if the read is not short or fails.

        After None the driver's thread runs the statement again, and reports errors.
        """
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
            # A read that has to wait for a lock does so in the driver's thread.
            self._connection = sqlite3.connect(self._file, timeout=0, isolation_level=None)
            configure_short_reads(self._connection)
            self._connection.set_progress_handler(self._is_long, TICK)
        return self._connection

    def _is_long(self) -> bool:
        self._ticks += 1
        return self._ticks > MOST_TICKS
