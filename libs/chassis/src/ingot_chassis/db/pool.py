"""A pool of database connections, separate from the engine's pool.

A checkout from the engine's pool costs more than most statements (ADR 12).
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Self, cast

from asyncpg.transaction import Transaction
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ingot_chassis.db.driver import (
    AWAY_ERRORS,
    DRIVER_ERRORS,
    Driver,
    SqliteDriver,
    as_sqlalchemy_error,
    is_away,
)
from ingot_chassis.errors import DatabaseUnavailable, Unavailable

WAIT_SECONDS = 60.0
"""Seconds that a request waits for a connection."""
AWAY_SECONDS = 10.0
"""Seconds that requests wait for an unavailable database, which may be restarting."""
AWAY_PAUSE = 0.1


class PooledConnection:
    """A connection with its driver: ``driver`` for PostgreSQL, ``sqlite_driver`` for SQLite."""

    def __init__(
        self, connection: AsyncConnection, connect: Callable[[], Awaitable[AsyncConnection]]
    ) -> None:
        self._connect = connect
        self._hold(connection)

    @classmethod
    async def open(cls, connect: Callable[[], Awaitable[AsyncConnection]]) -> Self:
        return cls(await connect(), connect)

    def _hold(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self.driver: Driver | None = None
        self.sqlite_driver: SqliteDriver | None = None
        if connection.sync_connection is None:
            return
        driver = connection.sync_connection.connection.driver_connection
        if connection.dialect.name == "postgresql":
            self.driver = cast("Driver", driver)
        else:
            self.sqlite_driver = cast("SqliteDriver", driver)

    async def reopen(self) -> None:
        """Replace a connection whose server went down. Raises DatabaseUnavailable."""
        await self.drop()
        self._hold(await self._connect())

    def is_usable(self) -> bool:
        """Return whether the connection can be reused: its server is up, and its transaction was ended."""
        if self.is_cut():
            return False
        if self.sqlite_driver is not None:
            return not self.sqlite_driver.in_transaction
        return not (self.driver is not None and self.driver.is_in_transaction())

    def is_cut(self) -> bool:
        if self.driver is None:
            return self.connection.invalidated or self.connection.closed
        return bool(self.driver.is_closed())

    async def drop(self) -> None:
        """Close the connection, unless ``reopen`` has closed it without opening another one."""
        if self.connection.closed:
            return
        if not self.connection.invalidated:
            await self.connection.invalidate()
        await self.connection.close()

    async def try_lock(self, number: int) -> bool:
        """Try to take PostgreSQL's advisory lock ``number`` until the end of the current transaction.

        Return whether it was taken.
        """
        driver = cast("Driver", self.driver)
        with _driver_call():
            return bool(await driver.fetchval("SELECT pg_try_advisory_xact_lock($1::bigint)", number))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Run a transaction of the driver, which costs a third of SQLAlchemy's transaction."""
        if self.sqlite_driver is not None:
            async with _sqlite_transaction(self.sqlite_driver):
                yield
            return
        transaction, driver = await self._begun()
        try:
            yield
        except BaseException as error:
            if not driver.is_closed():
                with _driver_call():
                    await transaction.rollback()
            if isinstance(error, DRIVER_ERRORS):
                raise as_sqlalchemy_error(error) from error
            raise
        with _driver_call():
            await transaction.commit()

    async def _begun(self) -> "tuple[Transaction, Driver]":
        """Begin a transaction.

        If the server went down since the last transaction, wait for it. This is safe because nothing has
        begun.
        """
        try:
            return await self._begin()
        except DBAPIError as error:
            if not is_away(error):
                raise
        await self.reopen()
        return await self._begin()

    async def _begin(self) -> "tuple[Transaction, Driver]":
        driver = cast("Driver", self.driver)
        transaction = driver.transaction()
        with _driver_call():
            await transaction.start()
        return transaction, driver


@asynccontextmanager
async def _sqlite_transaction(driver: SqliteDriver) -> AsyncIterator[None]:
    """Run a transaction of SQLite.

    A cancelled statement still runs in the driver's thread. The rollback runs after it.
    """
    try:
        with _driver_call():
            # Taking the write lock first avoids SQLITE_BUSY when a read in the transaction turns into a
            # write.
            await driver.execute("BEGIN IMMEDIATE")
        yield
        with _driver_call():
            await driver.commit()
    except BaseException:
        # SQLAlchemy has closed the connection of a cancelled statement. Errors of the rollback are ignored in
        # favour of the first error: a cancellation must not become another error. A connection inside a
        # transaction is not reused.
        with suppress(ValueError, sqlite3.Error):
            await driver.rollback()
        raise


@contextmanager
def _driver_call() -> Iterator[None]:
    """Wrap errors of the driver and the connection as SQLAlchemy's errors."""
    try:
        yield
    except (*DRIVER_ERRORS, sqlite3.Error, OSError) as error:
        raise as_sqlalchemy_error(error) from error


class Lease:
    """A block with a connection.

    It is a class, because a generator would cost as much as the statement in the block.
    """

    __slots__ = ("_pool", "_pooled")

    def __init__(self, pool: "ConnectionPool") -> None:
        self._pool = pool

    async def __aenter__(self) -> PooledConnection:
        self._pooled = await self._pool.acquire()
        return self._pooled

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        is_cancelled = kind is not None and issubclass(kind, asyncio.CancelledError)
        await self._pool.release(self._pooled, is_busy=is_cancelled and self._pooled.driver is not None)


class ConnectionPool:
    """A pool of at most ``size`` connections of one engine.

    While the database is unavailable, callers wait for a few seconds. A connection carries no state to its
    next user: reads run without a transaction, and a transaction ends with its block.
    """

    def __init__(self, engine: AsyncEngine, size: int) -> None:
        self._engine, self._size, self._slots = engine, size, asyncio.Semaphore(size)
        self._idle: list[PooledConnection] = []
        self._away_since = 0.0

    def connection(self) -> "Lease":
        """Return a block with an exclusive connection.

        Entering the block waits for a connection. Raises Unavailable after ``WAIT_SECONDS``, and
        DatabaseUnavailable.
        """
        return Lease(self)

    async def open_ahead(self, count: int) -> None:
        """Open ``count`` connections in advance, up to the size of the pool.

        Raises the errors of ``connection``.
        """
        async with AsyncExitStack() as connections:
            for _ in range(min(count, self._size)):
                await connections.enter_async_context(self.connection())

    async def acquire(self) -> PooledConnection:
        """Return a connection for ``Lease``, which releases it. Raises the errors of ``connection``."""
        await self._acquire_slot()
        try:
            return await self._open_or_reuse()
        except BaseException:
            self._slots.release()
            raise

    async def release(self, pooled: PooledConnection, *, is_busy: bool) -> None:
        """Release a connection of ``Lease``. ``is_busy``: a cancelled statement may still run on it."""
        try:
            if pooled.is_usable() and not is_busy:
                self._idle.append(pooled)
            else:
                await self._drop(pooled)
        finally:
            self._slots.release()

    async def _drop(self, pooled: PooledConnection) -> None:
        """Close the connection. If the server had closed it, close all idle connections, too."""
        was_cut = pooled.is_cut()
        await pooled.drop()
        while was_cut and self._idle:
            await self._idle.pop().drop()

    async def _open_or_reuse(self) -> PooledConnection:
        while self._idle:
            pooled = self._idle.pop()
            if pooled.is_usable():
                return pooled
            await pooled.drop()
        return await PooledConnection.open(self._open)

    async def _open(self) -> AsyncConnection:
        """Open a new connection.

        Raises DatabaseUnavailable: after ``AWAY_SECONDS`` of retries, and at once for an error that is not an
        outage.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection = await self._engine.connect()
            except (*AWAY_ERRORS, DBAPIError) as error:
                is_restart = not isinstance(error, DBAPIError) or is_away(error)
                self._away_since = self._away_since or loop.time()
                if not is_restart or loop.time() + AWAY_PAUSE > self._away_since + AWAY_SECONDS:
                    raise DatabaseUnavailable(repr(error)) from error
                await asyncio.sleep(AWAY_PAUSE)
            else:
                self._away_since = 0.0
                return connection

    async def _acquire_slot(self) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError as error:
            raise Unavailable("the database is overloaded") from error

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().connection.close()
