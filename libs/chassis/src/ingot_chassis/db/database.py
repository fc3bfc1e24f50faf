"""The database of one service: plain reads, and transactions that write state and events together.

Commit and rollback happen here and nowhere else. A transaction commits when its block ends and rolls back
when the block raises, so a false success cannot be answered from inside it.
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
    """A block that reads."""

    __slots__ = ("_short_reads", "_uses_sqlite_driver")

    def __init__(
        self, pool: ConnectionPool, short_reads: ShortReads | None, *, uses_sqlite_driver: bool
    ) -> None:
        super().__init__(pool)
        self._short_reads, self._uses_sqlite_driver = short_reads, uses_sqlite_driver

    async def __aenter__(self) -> Reader:  # type: ignore[override]
        pooled = await super().__aenter__()
        return Reader(pooled, self._short_reads, uses_sqlite_driver=self._uses_sqlite_driver)


class ExclusiveLock:
    """True while this process has the lock, as far as it knows: PostgreSQL may have ended the connection a moment ago."""

    __slots__ = ("_is_acquired", "_pooled")

    def __init__(self, pooled: PooledConnection | None, *, is_acquired: bool) -> None:
        self._pooled, self._is_acquired = pooled, is_acquired

    def __bool__(self) -> bool:
        return self._is_acquired and not (self._pooled is not None and self._pooled.is_cut())


class Database:
    """Engines of one database and the ways to use them."""

    def __init__(self, url: str, metadata: MetaData, *, pool: int = 10) -> None:
        self.url = make_url(url)
        self.metadata = metadata
        outbox = metadata.tables.get("outbox")
        self._insert_event = insert_event(outbox) if outbox is not None else None
        self.committed_events = asyncio.Event()
        self._exclusive: dict[str, asyncio.Lock] = {}
        self.short_reads: ShortReads | None = None
        self.uses_sqlite_driver = True
        """False: everything goes through SQLAlchemy on SQLite, where its events count it."""
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
            # Nothing is left on a connection, so the reset on return buys nothing; and transactions are the driver's.
            # A holder of a lock opens transactions meanwhile: from the same pool, holders could starve each other.
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
        """A connection for reading."""
        return ReadLease(self._readers, self.short_reads, uses_sqlite_driver=self.uses_sqlite_driver)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """State and events, all or nothing. Ask other services before entering, never inside."""
        async with self._writers.connection() as pooled, pooled.transaction():
            tx = Tx(pooled, uses_sqlite_driver=self.uses_sqlite_driver)
            yield tx
            # Last, so that events of one key are numbered while its rows are still locked.
            if tx.event_rows:
                assert self._insert_event is not None  # noqa: S101 - a service that emits has an outbox
                await self._insert_event.each(tx, tx.event_rows)
        if tx.event_rows:
            self.committed_events.set()
        for callback in tx.callbacks:
            callback()

    async def run_alone(self, act: Callable[[Executor], Awaitable[_T]], *, repeats: bool = True) -> _T:
        """What ``act`` returns, which runs one prepared statement: a transaction of its own, without a beginning and an end.

        It announces nothing. If it ``repeats``, it runs again when its connection is lost: what was lost may be no more
        than its answer.
        """
        async with self._writers.connection() as pooled:
            writer = Reader(pooled, uses_sqlite_driver=self.uses_sqlite_driver)
            try:
                return await act(writer)
            except DBAPIError as error:
                if not repeats or not is_away(error):
                    raise
            await pooled.reopen()
            return await act(writer)

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[ExclusiveLock]:
        """Yield what is true for one holder of ``name`` among all processes, and at once false for the others.

        PostgreSQL: an advisory lock of a transaction, gone with its connection. So a holder that goes on for long asks
        again: what is yielded becomes false. SQLite has one process.
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
        """Open so many connections for reads, and for transactions, that come; SQLite's are open at once when they are needed.

        Raises DatabaseUnavailable, Unavailable.
        """
        if self.is_sqlite:
            return
        await self._readers.open_ahead(count)
        await self._writers.open_ahead(count)

    async def ping(self) -> None:
        """Ask the database for an answer; whatever the driver raises when there is none."""
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
