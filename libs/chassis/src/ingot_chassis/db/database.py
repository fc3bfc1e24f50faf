"""The database of one service: reads, and transactions that write state and events together.

Commit and rollback happen only here. A transaction commits when its block ends and rolls back when the block
raises. So no success can be returned from inside a transaction that fails.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import MetaData, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.db.driver import Executor, is_away
from ingot_chassis.db.outbox import insert_event
from ingot_chassis.db.pool import ConnectionPool, Lease, PooledConnection
from ingot_chassis.db.short_reads import ShortReads
from ingot_chassis.db.sqlite import configure_engine
from ingot_chassis.db.transaction import Reader, Tx, lock_number

LOCKS_AT_ONCE = 20
SQLITE_READERS = 12

_T = TypeVar("_T")


class ReadLease(Lease):
    """A block with a connection for reading."""

    __slots__ = ("_short_reads", "_uses_drivers")

    def __init__(self, pool: ConnectionPool, short_reads: ShortReads | None, *, uses_drivers: bool) -> None:
        super().__init__(pool)
        self._short_reads, self._uses_drivers = short_reads, uses_drivers

    async def __aenter__(self) -> Reader:  # type: ignore[override]
        pooled = await super().__aenter__()
        return Reader(pooled, self._short_reads, uses_drivers=self._uses_drivers)


class ExclusiveLock:
    """A lock that this process may hold: true while the process holds the lock.

    PostgreSQL releases the lock when its connection is closed. The process may notice this a moment later.
    """

    __slots__ = ("_is_acquired", "_pooled")

    def __init__(self, pooled: PooledConnection | None, *, is_acquired: bool) -> None:
        self._pooled, self._is_acquired = pooled, is_acquired

    def __bool__(self) -> bool:
        return self._is_acquired and not (self._pooled is not None and self._pooled.is_cut())


class Database:
    """The engines of one database, with reads and transactions."""

    def __init__(self, url: str, metadata: MetaData, *, pool: int = 10) -> None:
        self.url = make_url(url)
        self.metadata = metadata
        outbox = metadata.tables.get("outbox")
        self._insert_event = insert_event(outbox) if outbox is not None else None
        self.committed_events = asyncio.Event()
        self._exclusive: dict[str, asyncio.Lock] = {}
        self.short_reads: ShortReads | None = None
        self.uses_drivers = True
        """False sends every statement through SQLAlchemy, whose events tests use to count statements."""
        if self.is_sqlite:
            # One writing connection: writers queue in this process instead of colliding in the file.
            self.writing, self.reading = (
                create_async_engine(self.url, pool_size=size, max_overflow=0, isolation_level="AUTOCOMMIT")
                for size in (1, SQLITE_READERS)
            )
            configure_engine(self.writing)
            configure_engine(self.reading)
            if self.url.database:
                self.short_reads = ShortReads(self.url.database)
        else:
            # Connections carry no state, so a reset on return is useless. Transactions belong to the driver.
            # A holder of a lock opens transactions while it holds it. If both used one pool, holders could
            # starve each other.
            self.writing, self.reading, self.locking = (
                create_async_engine(
                    self.url,
                    pool_size=size,
                    max_overflow=0,
                    isolation_level="AUTOCOMMIT",
                    pool_reset_on_return=None,
                )
                for size in (pool, pool, LOCKS_AT_ONCE)
            )
            self._lockers = ConnectionPool(self.locking, LOCKS_AT_ONCE)
        self._readers = ConnectionPool(self.reading, SQLITE_READERS if self.is_sqlite else pool)
        self._writers = ConnectionPool(self.writing, 1 if self.is_sqlite else pool)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    def read(self) -> "ReadLease":
        """Return a block with a connection for reading."""
        return ReadLease(self._readers, self.short_reads, uses_drivers=self.uses_drivers)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """Run a transaction: state and events are committed together or not at all.

        Call other services before the transaction, never inside it.
        """
        async with self._writers.connection() as pooled, pooled.transaction():
            tx = Tx(pooled, uses_drivers=self.uses_drivers)
            yield tx
            # At the end, so events of one key are numbered while its rows are still locked.
            if tx.event_rows:
                assert self._insert_event is not None  # noqa: S101 - a service that emits has an outbox
                await self._insert_event.each(tx, tx.event_rows)
        if tx.event_rows:
            self.committed_events.set()
        for callback in tx.callbacks:
            callback()

    async def run_alone(self, act: Callable[[Executor], Awaitable[_T]], *, repeats: bool = True) -> _T:
        """Run ``act``, a single prepared statement, as a transaction of its own without BEGIN and COMMIT.

        ``act`` must not emit events. ``repeats``: run ``act`` again after a lost connection. It must then be
        idempotent, because only its response may have been lost. Return the result of ``act``.
        """
        async with self._writers.connection() as pooled:
            writer = Reader(pooled, uses_drivers=self.uses_drivers)
            try:
                return await act(writer)
            except DBAPIError as error:
                if not repeats or not is_away(error):
                    raise
            await pooled.reopen()
            return await act(writer)

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[ExclusiveLock]:
        """Try to take the lock ``name`` among all processes.

        Yields a true value to one holder, and a false value to all others. PostgreSQL uses an advisory lock
        of a transaction, which is lost with its connection. The yielded value then becomes false, so a holder
        that runs long must check it again. SQLite has one process.
        """
        if self.is_sqlite:
            lock = self._exclusive.setdefault(name, asyncio.Lock())
            if lock.locked():
                yield ExclusiveLock(None, is_acquired=False)
                return
            async with lock:
                yield ExclusiveLock(None, is_acquired=True)
            return
        async with self._lockers.connection() as pooled, pooled.transaction():
            yield ExclusiveLock(pooled, is_acquired=await pooled.try_lock(lock_number(name)))

    async def open_ahead(self, count: int) -> None:
        """Open ``count`` connections for reads, and as many for transactions, in advance.

        SQLite opens connections on first use. Raises DatabaseUnavailable, Unavailable.
        """
        if self.is_sqlite:
            return
        await self._readers.open_ahead(count)
        await self._writers.open_ahead(count)

    async def ping(self) -> None:
        """Send a query to the database. Raises the driver's error."""
        async with self.read() as db:
            await db.execute(text("SELECT 1"))

    async def close(self) -> None:
        if self.short_reads is not None:
            self.short_reads.close()
        await self._readers.close()
        await self._writers.close()
        await self.writing.dispose()
        await self.reading.dispose()
        if not self.is_sqlite:
            await self._lockers.close()
            await self.locking.dispose()
