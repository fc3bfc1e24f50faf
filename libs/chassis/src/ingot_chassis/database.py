"""The database of one service: plain reads, and transactions that write state and events together.

Commit and rollback happen here and nowhere else. A transaction commits when its block ends and rolls back
when the block raises, so a false success cannot be answered from inside it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast
from zlib import crc32

import msgspec
from sqlalchemy import CursorResult, Dialect, Executable, MetaData, Table, bindparam, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ingot_chassis.change import Change
from ingot_chassis.driver import DRIVER_ERRORS, Driver, as_sqlalchemy_tells, summary
from ingot_chassis.errors import Unavailable
from ingot_chassis.events import new_event_row
from ingot_chassis.telemetry import client_span

LOCK_SPACE = 0x494E474F
"""Upper half of our advisory lock numbers, so that they meet nobody else's."""

LOCKS_AT_ONCE = 20
TURN_SECONDS = 60.0
"""How long a request waits for a connection."""
SQLITE_READERS = 12


class Executor(Protocol):
    """What store functions take: a transaction or a reading connection."""

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]: ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def dialect_name(self) -> str: ...

    @property
    def driver(self) -> "Driver | None": ...


class Reader:
    """A connection that reads; every statement sees the newest committed state."""

    def __init__(self, connection: AsyncConnection, driver: "Driver | None") -> None:
        self._connection = connection
        self.driver = driver
        """PostgreSQL's driver, to which a statement may go directly."""

    @property
    def dialect(self) -> Dialect:
        return self._connection.dialect

    @property
    def dialect_name(self) -> str:
        return self._connection.dialect.name

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]:
        with client_span(lambda: summary(statement)):
            return await self._connection.execute(statement, parameters)


class Tx(Reader):
    """A transaction. ``emit`` announces what it does, if and only if it commits."""

    def __init__(self, connection: AsyncConnection, driver: "Driver | None") -> None:
        super().__init__(connection, driver)
        self.events: list[dict[str, Any]] = []
        self.callbacks: list[Callable[[], None]] = []

    async def alone_with(self, name: str) -> None:
        """Wait until no other transaction is alone with ``name``; this one is until it ends.

        What is read afterwards is what those before have left. SQLite has one transaction at a time anyway.
        """
        if self.dialect_name != "sqlite":
            lock = text("SELECT pg_advisory_xact_lock(CAST(:key AS bigint))")
            await self.execute(lock, {"key": _lock_number(name)})

    async def wait_at_most(self, seconds: float) -> None:
        """Let a statement fail that waits longer for a lock: whoever holds many locks must give way to the others.

        PostgreSQL ends a deadlock after a second, and chooses whom it likes. SQLite has one transaction at a time.
        """
        if self.dialect_name != "sqlite":
            await self.execute(
                text("SELECT set_config('lock_timeout', :wait, true)"), {"wait": f"{seconds * 1000:.0f}ms"}
            )

    def once_committed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when all of this has become visible, and never if it does not."""
        self.callbacks.append(callback)

    def emit(self, happened: msgspec.Struct, *, key: int | str) -> str:
        """Announce ``happened``; events of one ``key`` arrive in the order of their commits. Returns its id."""
        row = new_event_row(happened, str(key))
        self.events.append(row)
        return str(row["id"])


class Kept:
    """Connections of one engine that stay out of its pool: checking one out costs more than most statements.

    Nothing is left on one but what the next user may find: reads run without a transaction, and a transaction
    ends with its block.
    """

    def __init__(self, engine: AsyncEngine, most: int) -> None:
        self._engine, self._free = engine, asyncio.Semaphore(most)
        self._idle: list[_Opened] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["_Opened"]:
        """One of them, for this block alone. Raises Unavailable after a long wait for one."""
        await self._turn()
        try:
            opened = await self._found()
            try:
                yield opened
            finally:
                if opened.is_usable():
                    self._idle.append(opened)
                else:
                    await self._drop(opened)
        finally:
            self._free.release()

    async def _drop(self, opened: "_Opened") -> None:
        """Those that are idle go with one that was cut: its server went away from all of them."""
        was_cut = opened.is_cut()
        await opened.drop()
        while was_cut and self._idle:
            await self._idle.pop().drop()

    async def _found(self) -> "_Opened":
        while self._idle:
            opened = self._idle.pop()
            if opened.is_usable():
                return opened
            await opened.drop()
        return _Opened(await self._engine.connect())

    async def _turn(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._free.acquire()
        except TimeoutError as error:
            raise Unavailable("the database is overloaded") from error

    async def close(self) -> None:
        """Close those that nobody uses."""
        while self._idle:
            await self._idle.pop().connection.close()


class _Opened:
    """A connection, and the driver below it if it is PostgreSQL's."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self.driver: Driver | None = None
        if connection.dialect.name == "postgresql" and connection.sync_connection is not None:
            self.driver = cast("Driver", connection.sync_connection.connection.driver_connection)

    def is_usable(self) -> bool:
        """Whether another block may have it: not when its server went away, or its transaction could not be ended."""
        return not self.is_cut() and not (self.driver is not None and self.driver.is_in_transaction())

    def is_cut(self) -> bool:
        if self.driver is None:
            return self.connection.invalidated or self.connection.closed
        return bool(self.driver.is_closed())

    async def drop(self) -> None:
        if not self.connection.invalidated:
            await self.connection.invalidate()
        await self.connection.close()


class Database:
    """Engines of one database and the ways to use them."""

    def __init__(self, url: str, metadata: MetaData, *, pool: int = 10) -> None:
        self.url = make_url(url)
        self.metadata = metadata
        outbox = metadata.tables.get("outbox")
        self._announce = _announcing(outbox) if outbox is not None else None
        self.committed_events = asyncio.Event()
        self._exclusive: dict[str, asyncio.Lock] = {}
        if self.is_sqlite:
            # One writing connection: writers queue in this process instead of colliding in the file.
            self.writing = create_async_engine(self.url, pool_size=1, max_overflow=0)
            self.reading = create_async_engine(
                self.url, pool_size=SQLITE_READERS, max_overflow=0, isolation_level="AUTOCOMMIT"
            )
            event.listen(self.writing.sync_engine, "connect", _tune_sqlite)
            event.listen(self.reading.sync_engine, "connect", _tune_sqlite)
            event.listen(self.writing.sync_engine, "begin", _begin_immediate)
        else:
            # Nothing is left on a connection, so the reset on return buys nothing; and transactions are the driver's.
            self.writing, self.reading = (
                create_async_engine(
                    self.url,
                    pool_size=pool,
                    max_overflow=0,
                    isolation_level="AUTOCOMMIT",
                    pool_reset_on_return=None,
                )
                for _ in range(2)
            )
            # A holder of a lock opens transactions meanwhile: from the same pool, holders could starve each other.
            self.locking = create_async_engine(self.url, pool_size=LOCKS_AT_ONCE, max_overflow=0)
            self._lockers = Kept(self.locking, LOCKS_AT_ONCE)
        self._readers = Kept(self.reading, SQLITE_READERS if self.is_sqlite else pool)
        self._writers = Kept(self.writing, 1 if self.is_sqlite else pool)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Reader]:
        """A connection for reading."""
        async with self._readers.connection() as opened:
            yield Reader(opened.connection, opened.driver)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """State and events, all or nothing. Ask other services before entering, never inside."""
        async with self._writers.connection() as opened, _begun(opened):
            tx = Tx(opened.connection, opened.driver)
            yield tx
            # Last, so that events of one key are numbered while its rows are still locked.
            for row in tx.events:
                assert self._announce is not None  # noqa: S101 - a service that emits has an outbox
                await self._announce.run(tx, **row)
        if tx.events:
            self.committed_events.set()
        for callback in tx.callbacks:
            callback()

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[bool]:
        """Yield True to one holder of ``name`` among all processes, False at once to the others.

        PostgreSQL: an advisory lock of a transaction, gone with its connection. SQLite has one process.
        """
        if self.is_sqlite:
            lock = self._exclusive.setdefault(name, asyncio.Lock())
            if lock.locked():
                yield False
                return
            async with lock:
                yield True
            return
        async with self._lockers.connection() as opened, opened.connection.begin():
            row = await opened.connection.execute(
                text("SELECT pg_try_advisory_xact_lock(CAST(:key AS bigint))"), {"key": _lock_number(name)}
            )
            yield bool(row.scalar())

    async def close(self) -> None:
        await self._readers.close()
        await self._writers.close()
        await self.writing.dispose()
        await self.reading.dispose()
        if not self.is_sqlite:
            await self._lockers.close()
            await self.locking.dispose()


@asynccontextmanager
async def _begun(opened: _Opened) -> AsyncIterator[None]:
    """A transaction; on PostgreSQL the driver's, which costs a third of one of SQLAlchemy's."""
    if opened.driver is None:
        async with opened.connection.begin():
            yield
        return
    transaction = opened.driver.transaction()
    try:
        await transaction.start()
        try:
            yield
        except BaseException:
            if not opened.driver.is_closed():
                await transaction.rollback()
            raise
        await transaction.commit()
    except DRIVER_ERRORS as error:
        raise as_sqlalchemy_tells(error) from error


def _announcing(outbox: Table) -> Change:
    columns = ("id", "type", "key", "payload", "traceparent", "created_at")
    return Change(outbox.insert().values({name: bindparam(name) for name in columns}))


def _lock_number(name: str) -> int:
    return LOCK_SPACE << 32 | crc32(name.encode())


def insert(db: Executor, table: Table) -> Any:
    """An INSERT that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update`` of the database behind ``db``."""
    return sqlite.insert(table) if db.dialect_name == "sqlite" else postgresql.insert(table)


def _tune_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    # SQLite's own knows A to Z only, so that nobody would find an Ä in what has one.
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(value: Any) -> str | None:
    return None if value is None else str(value).lower()


def _begin_immediate(connection: Any) -> None:
    # Taking the write lock first avoids SQLITE_BUSY when a read inside the transaction turns into a write.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
