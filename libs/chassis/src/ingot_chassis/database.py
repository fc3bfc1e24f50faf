"""The database of one service: plain reads, and transactions that write state and events together.

Commit and rollback happen here and nowhere else. A transaction commits when its block ends and rolls back
when the block raises, so a false success cannot be answered from inside it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from zlib import crc32

import msgspec
from sqlalchemy import CursorResult, Executable, MetaData, Table, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.util import greenlet_spawn

from ingot_chassis.events import new_event_row

LOCK_SPACE = 0x494E474F
"""Upper half of our advisory lock numbers, so that they meet nobody else's."""


LOCKS_AT_ONCE = 20

_STATELESS: dict[str, Any] = {
    "isolation_level": "AUTOCOMMIT",
    "pool_reset_on_return": None,
    "skip_autocommit_rollback": True,
}
"""Of an engine for plain reads: they carry no session state, so neither BEGIN nor a reset buys anything."""


class Executor(Protocol):
    """What store functions take: a transaction or a reading connection."""

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]: ...

    @property
    def dialect_name(self) -> str: ...


class Reader:
    """Reads; every statement sees the newest committed state, each on whichever connection is free."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def dialect_name(self) -> str:
        return self._engine.dialect.name

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]:
        return await greenlet_spawn(self._execute, statement, parameters)

    def _execute(self, statement: Executable, parameters: Any) -> CursorResult[Any]:
        # One switch to SQLAlchemy's side for all three steps. Both drivers have read all rows by then.
        with self._engine.connect() as connection:
            return connection.execute(statement, parameters)


class Tx:
    """A transaction. ``emit`` announces what it does, if and only if it commits."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.events: list[dict[str, Any]] = []

    @property
    def dialect_name(self) -> str:
        return self._connection.dialect.name

    async def execute(self, statement: Executable, parameters: Any = None, /) -> CursorResult[Any]:
        return await self._connection.execute(statement, parameters)

    def emit(self, happened: msgspec.Struct, *, key: int | str) -> str:
        """Announce ``happened``; events of one ``key`` arrive in the order of their commits. Returns its id."""
        row = new_event_row(happened, str(key))
        self.events.append(row)
        return str(row["id"])


class Database:
    """Engines of one database and the ways to use them."""

    def __init__(self, url: str, metadata: MetaData, *, pool: int = 10) -> None:
        self.url = make_url(url)
        self.metadata = metadata
        self._outbox = metadata.tables.get("outbox")
        self.committed_events = asyncio.Event()
        self._exclusive: dict[str, asyncio.Lock] = {}
        if self.is_sqlite:
            # One writing connection: writers queue in this process instead of colliding in the file.
            self.writing = create_async_engine(self.url, pool_size=1, max_overflow=0, pool_timeout=60)
            self.reading = create_async_engine(self.url, pool_size=4, max_overflow=8, **_STATELESS)
            event.listen(self.writing.sync_engine, "connect", _tune_sqlite)
            event.listen(self.reading.sync_engine, "connect", _tune_sqlite)
            event.listen(self.writing.sync_engine, "begin", _begin_immediate)
        else:
            self.writing = create_async_engine(self.url, pool_size=pool, max_overflow=0, pool_pre_ping=False)
            self.reading = create_async_engine(self.url, pool_size=pool, max_overflow=0, **_STATELESS)
            # A holder of a lock opens transactions meanwhile: from the same pool, holders could starve each other.
            self.locking = create_async_engine(self.url, pool_size=2, max_overflow=LOCKS_AT_ONCE)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Reader]:
        """Plain reads."""
        yield Reader(self.reading.sync_engine)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """State and events, all or nothing. Ask other services before entering, never inside."""
        async with self.writing.begin() as connection:
            tx = Tx(connection)
            yield tx
            if tx.events:
                # Last, so that events of one key are numbered while its rows are still locked.
                assert self._outbox is not None  # noqa: S101 - a service that emits has an outbox
                await connection.execute(self._outbox.insert(), tx.events)
        if tx.events:
            self.committed_events.set()

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
        async with self.locking.begin() as connection:
            key = LOCK_SPACE << 32 | crc32(name.encode())
            row = await connection.execute(
                text("SELECT pg_try_advisory_xact_lock(CAST(:key AS bigint))"), {"key": key}
            )
            yield bool(row.scalar())

    async def close(self) -> None:
        await self.writing.dispose()
        await self.reading.dispose()
        if not self.is_sqlite:
            await self.locking.dispose()


def insert(db: Executor, table: Table) -> Any:
    """An INSERT that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update`` of the database behind ``db``."""
    return sqlite.insert(table) if db.dialect_name == "sqlite" else postgresql.insert(table)


def _tune_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Any) -> None:
    # Taking the write lock first avoids SQLITE_BUSY when a read inside the transaction turns into a write.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
