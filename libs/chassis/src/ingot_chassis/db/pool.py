"""Connections that stay out of the engine's pool: checking one out costs more than most statements (ADR 12)."""

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
"""How long a request waits for a connection."""
AWAY_SECONDS = 10.0
"""How long requests wait for a database that went away; it may be restarting."""
AWAY_PAUSE = 0.1


class PooledConnection:
    """A connection, and the driver below it: ``driver`` is PostgreSQL's, ``sqlite_driver`` SQLite's."""

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
        """Take another connection in place of one whose server went away. Raises DatabaseUnavailable."""
        await self.drop()
        self._hold(await self._connect())

    def is_usable(self) -> bool:
        """Whether another block may have it: not when its server went away, or its transaction could not be ended."""
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
        """Close it, if `reopen` has not done so and found no other one."""
        if self.connection.closed:
            return
        if not self.connection.invalidated:
            await self.connection.invalidate()
        await self.connection.close()

    async def try_lock(self, number: int) -> bool:
        """Whether the present transaction has got PostgreSQL's advisory lock ``number``, which it then holds until its end."""
        driver = cast("Driver", self.driver)
        with _driver_call():
            return bool(await driver.fetchval("SELECT pg_try_advisory_xact_lock($1::bigint)", number))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction of the driver's, which costs a third of one of SQLAlchemy's."""
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
        """A transaction that has begun. A server that went away since the last one is waited for: it has begun nothing."""
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
    """A transaction of SQLite's. What is cancelled still runs in the driver's thread, and the rollback after it."""
    try:
        with _driver_call():
            # Taking the write lock first avoids SQLITE_BUSY when a read inside the transaction turns into a write.
            await driver.execute("BEGIN IMMEDIATE")
        yield
        with _driver_call():
            await driver.commit()
    except BaseException:
        # Of a statement that was cancelled SQLAlchemy has closed the connection. Whatever else the rollback says, the error
        # before it counts: a cancellation must not become an error, and a connection in a transaction is not used again.
        with suppress(ValueError, sqlite3.Error):
            await driver.rollback()
        raise


@contextmanager
def _driver_call() -> Iterator[None]:
    """Around a call of the driver: its errors, and those of the connection, in the shape of all others."""
    try:
        yield
    except (*DRIVER_ERRORS, sqlite3.Error, OSError) as error:
        raise as_sqlalchemy_error(error) from error


class Lease:
    """A block with a connection. A class, because a generator costs as much as the statement in it."""

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
    """At most ``size`` connections of one engine. While its database is away, those who want one wait a moment.

    Nothing is left on one but what the next user may find: reads run without a transaction, and a transaction
    ends with its block.
    """

    def __init__(self, engine: AsyncEngine, size: int) -> None:
        self._engine, self._size, self._slots = engine, size, asyncio.Semaphore(size)
        self._idle: list[PooledConnection] = []
        self._away_since = 0.0

    def connection(self) -> "Lease":
        """A connection for a block alone. Raises Unavailable after a long wait for one."""
        return Lease(self)

    async def open_ahead(self, count: int) -> None:
        """Have so many connections for those who come, as far as there may be as many. Raises as ``connection``."""
        async with AsyncExitStack() as connections:
            for _ in range(min(count, self._size)):
                await connections.enter_async_context(self.connection())

    async def acquire(self) -> PooledConnection:
        """For ``Lease``, which gives it back. Raises as ``connection``."""
        await self._acquire_slot()
        try:
            return await self._open_or_reuse()
        except BaseException:
            self._slots.release()
            raise

    async def release(self, pooled: PooledConnection, *, is_busy: bool) -> None:
        """For ``Lease``. A connection ``is_busy`` that may not have finished what was cancelled."""
        try:
            if pooled.is_usable() and not is_busy:
                self._idle.append(pooled)
            else:
                await self._drop(pooled)
        finally:
            self._slots.release()

    async def _drop(self, pooled: PooledConnection) -> None:
        """Idle connections go with one that was cut: its server went away from all of them."""
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
        """A new connection. Raises DatabaseUnavailable when the database is away for longer than requests wait."""
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
