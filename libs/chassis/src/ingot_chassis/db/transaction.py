"""A reading connection, and a transaction that also emits events: the parameters of store functions."""

from collections.abc import Callable
from typing import Any, ClassVar
from zlib import crc32

import msgspec
from sqlalchemy import CursorResult, Dialect, Executable, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from ingot_chassis.completion import complete
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
"""Upper half of our advisory lock numbers. It differs from those of other programs."""


class Reader:
    """A reading connection. Every statement sees the latest committed state."""

    repeats: ClassVar[bool] = True
    """True: a statement is retried over another connection when its connection is lost."""

    def __init__(
        self,
        pooled: PooledConnection,
        short_reads: ShortReads | None = None,
        *,
        uses_drivers: bool = True,
    ) -> None:
        self._pooled, self.short_reads = pooled, short_reads
        self._uses_drivers = uses_drivers

    @property
    def driver(self) -> "Driver | None":
        """Return PostgreSQL's driver for direct use, or None."""
        return self._pooled.driver if self._uses_drivers else None

    @property
    def sqlite_driver(self) -> "SqliteDriver | None":
        """Return SQLite's driver for direct use, or None."""
        return self._pooled.sqlite_driver if self._uses_drivers else None

    @property
    def dialect(self) -> Dialect:
        return self._pooled.connection.dialect

    @property
    def dialect_name(self) -> str:
        return self._pooled.connection.dialect.name

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]:
        with client_span(lambda: statement_summary(statement)):
            try:
                return await self._run(statement, parameters)
            except OSError as error:
                failure = as_sqlalchemy_error(error)
            except DBAPIError as error:
                failure = error
            if not self.repeats or not is_away(failure):
                raise failure
            await self._pooled.reopen()
            return await self._run(statement, parameters)

    async def _run(self, statement: Executable, parameters: Any) -> CursorResult[Any]:
        """Run a statement. On SQLite, a cancelled caller interrupts it and waits for its end.

        SQLAlchemy would close the connection of the cancelled statement. SQLite keeps the transaction and its
        lock until the last cursor of a closed connection is collected as garbage.
        """
        running = self._pooled.connection.execute(statement, parameters)
        driver = self._pooled.sqlite_driver
        return await (running if driver is None else complete(running, driver.interrupt))


class Tx(Reader):
    """A transaction. ``emit`` publishes an event if and only if the transaction commits."""

    repeats = False

    def __init__(self, pooled: PooledConnection, *, uses_drivers: bool = True) -> None:
        super().__init__(pooled, uses_drivers=uses_drivers)
        self.event_rows: list[dict[str, Any]] = []
        self.callbacks: list[Callable[[], None]] = []
        self.locked: set[int] = set()
        """Numbers of advisory locks that this transaction holds.

        Services read them to lock each number once.
        """

    async def advisory_lock(self, name: str) -> None:
        """Take the lock ``name`` until the transaction ends; wait for other holders.

        Later reads see the commits of earlier holders. SQLite runs one transaction at a time anyway.
        """
        if self.dialect_name != "sqlite":
            lock = text("SELECT pg_advisory_xact_lock(CAST(:key AS bigint))")
            await self.execute(lock, {"key": lock_number(name)})

    async def limit_lock_wait(self, seconds: float) -> None:
        """Let later statements fail if they wait for a lock longer than ``seconds``.

        A transaction that holds many locks must give way to others. PostgreSQL ends a deadlock after a
        second, and may choose any transaction as the victim. SQLite runs one transaction at a time.
        """
        if self.dialect_name != "sqlite":
            await self.execute(
                text("SELECT set_config('lock_timeout', :wait, true)"), {"wait": f"{seconds * 1000:.0f}ms"}
            )

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after the commit of the whole transaction, and never if it rolls back."""
        self.callbacks.append(callback)

    def emit(self, event: msgspec.Struct, *, key: int | str) -> str:
        """Emit ``event`` and return its id. Events of one ``key`` arrive in the order of their commits."""
        row = new_event_row(event, str(key))
        self.event_rows.append(row)
        return str(row["id"])


def lock_number(name: str) -> int:
    """Return the number of the advisory lock ``name``."""
    return LOCK_SPACE << 32 | crc32(name.encode())


def insert(db: Executor, table: Table) -> Any:
    """Return an INSERT that supports ``ON CONFLICT`` in the database of ``db``."""
    return sqlite.insert(table) if db.dialect_name == "sqlite" else postgresql.insert(table)
