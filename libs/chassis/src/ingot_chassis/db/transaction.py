"""A connection that reads, and a transaction that also announces events: what store functions take."""

from collections.abc import Callable
from typing import Any, ClassVar
from zlib import crc32

import msgspec
from sqlalchemy import CursorResult, Dialect, Executable, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from ingot_chassis.db.driver import (
    Driver,
    Executor,
    SqliteDriver,
    as_sqlalchemy_error,
    is_away,
    statement_summary,
)
from ingot_chassis.db.outbox import new_event_row
from ingot_chassis.db.pool import PooledConnection
from ingot_chassis.db.short_reads import ShortReads
from ingot_chassis.telemetry import client_span

LOCK_SPACE = 0x494E474F
"""Upper half of our advisory lock numbers, so that they meet nobody else's."""


class Reader:
    """A connection that reads; every statement sees the newest committed state."""

    repeats: ClassVar[bool] = True
    """Whether a statement whose connection was lost is run again over another one."""

    def __init__(
        self,
        pooled: PooledConnection,
        short_reads: ShortReads | None = None,
        *,
        uses_sqlite_driver: bool = True,
    ) -> None:
        self._pooled, self.short_reads = pooled, short_reads
        self._uses_sqlite_driver = uses_sqlite_driver

    @property
    def driver(self) -> "Driver | None":
        """PostgreSQL's driver, to which a statement may go directly."""
        return self._pooled.driver

    @property
    def sqlite_driver(self) -> "SqliteDriver | None":
        """SQLite's driver, to which a statement may go directly."""
        return self._pooled.sqlite_driver if self._uses_sqlite_driver else None

    @property
    def dialect(self) -> Dialect:
        return self._pooled.connection.dialect

    @property
    def dialect_name(self) -> str:
        return self._pooled.connection.dialect.name

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]:
        with client_span(lambda: statement_summary(statement)):
            try:
                return await self._pooled.connection.execute(statement, parameters)
            except OSError as error:
                failure = as_sqlalchemy_error(error)
            except DBAPIError as error:
                failure = error
            if not self.repeats or not is_away(failure):
                raise failure
            await self._pooled.reopen()
            return await self._pooled.connection.execute(statement, parameters)


class Tx(Reader):
    """A transaction. ``emit`` announces what it does, if and only if it commits."""

    repeats = False

    def __init__(self, pooled: PooledConnection, *, uses_sqlite_driver: bool = True) -> None:
        super().__init__(pooled, uses_sqlite_driver=uses_sqlite_driver)
        self.event_rows: list[dict[str, Any]] = []
        self.callbacks: list[Callable[[], None]] = []
        self.locked: set[int] = set()
        """The numbers of what it has locked, for a service that locks by them: once is enough."""

    async def advisory_lock(self, name: str) -> None:
        """Wait until no other transaction holds the lock ``name``; this one holds it until it ends.

        What is read afterwards is what earlier holders have committed. SQLite has one transaction at a time anyway.
        """
        if self.dialect_name != "sqlite":
            lock = text("SELECT pg_advisory_xact_lock(CAST(:key AS bigint))")
            await self.execute(lock, {"key": lock_number(name)})

    async def limit_lock_wait(self, seconds: float) -> None:
        """Let a statement fail that waits longer for a lock: whoever holds many locks must give way to the others.

        PostgreSQL ends a deadlock after a second, and chooses whom it likes. SQLite has one transaction at a time.
        """
        if self.dialect_name != "sqlite":
            await self.execute(
                text("SELECT set_config('lock_timeout', :wait, true)"), {"wait": f"{seconds * 1000:.0f}ms"}
            )

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the whole transaction has become visible, and never if it does not."""
        self.callbacks.append(callback)

    def emit(self, event: msgspec.Struct, *, key: int | str) -> str:
        """Announce ``event``; events of one ``key`` arrive in the order of their commits. Returns its id."""
        row = new_event_row(event, str(key))
        self.event_rows.append(row)
        return str(row["id"])


def lock_number(name: str) -> int:
    """The number of the advisory lock ``name``."""
    return LOCK_SPACE << 32 | crc32(name.encode())


def insert(db: Executor, table: Table) -> Any:
    """An INSERT that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update`` of the database behind ``db``."""
    return sqlite.insert(table) if db.dialect_name == "sqlite" else postgresql.insert(table)
