"""A database that goes down and comes back, behind a proxy that cuts connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

from ingot_chassis.clock import now
from ingot_chassis.db import pool
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor, is_away
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.transaction import insert
from ingot_chassis.errors import DatabaseUnavailable

from .messaging_world import metadata

outbox = metadata.tables["outbox"]
pytestmark = pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)


class IdRow(TypedRow):
    id: str


BY_ID = PreparedQuery(select(outbox.c.id).where(outbox.c.id == bindparam("id")), IdRow)


class Wire:
    """A port that leads to the database, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._ways: set[asyncio.Task[None]] = set()
        self._clients: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self.port = 0

    async def join(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break off every connection, and refuse others."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for way in self._ways:
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)

    async def announce_end(self) -> None:
        """Say on every connection that the server ends it, and leave it open."""
        fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
        for client in self._clients:
            client.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
            await client.drain()
        self._clients.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        database_reader, database_writer = await asyncio.open_connection(*self._to)
        self._clients.append(writer)
        for way in ((reader, database_writer), (database_reader, writer)):
            task = asyncio.create_task(self._carry(*way))
            self._ways.add(task)
            task.add_done_callback(self._ways.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                while part := await reader.read(65_536):
                    writer.write(part)
                    await writer.drain()
            finally:
                writer.transport.abort()


@asynccontextmanager
async def behind_a_wire(url: str) -> AsyncIterator[tuple[Database, Wire]]:
    address = sqlalchemy.make_url(url)
    wire = Wire(address.host or "127.0.0.1", address.port or 5432)
    await wire.join()
    through = address.set(host="127.0.0.1", port=wire.port).render_as_string(hide_password=False)
    database = Database(through, metadata, pool=2)
    try:
        yield database, wire
    finally:
        await database.close()
        await wire.cut()


COLUMNS = ("id", "key", "type", "payload", "created_at", "traceparent")
ADD = PreparedWrite(
    postgresql.insert(outbox).values({name: bindparam(name) for name in COLUMNS}).on_conflict_do_nothing()
)


def row(id_: str) -> dict[str, Any]:
    return {"id": id_, "key": "k", "type": "t", "payload": b"{}", "created_at": now(), "traceparent": ""}


async def add(database: Database, id_: str) -> None:
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(row(id_)))


async def add_alone(database: Database, id_: str) -> int:
    return await database.run_alone(lambda db: ADD.run(db, **row(id_)))


async def count(database: Database) -> int:
    async with database.read() as db:
        return int((await db.execute(select(func.count()).select_from(outbox))).scalar_one())


async def has(database: Database, id_: str) -> bool:
    async with database.read() as db:
        return await BY_ID.first(db, id=id_) is not None


async def test_reads_and_transactions_wait_for_a_database_that_comes_back(make_url):
    async with behind_a_wire(make_url()) as (database, wire):
        await add(database, "a")
        assert await count(database) == 1
        await wire.cut()
        waiting = asyncio.gather(
            count(database), has(database, "a"), add(database, "b"), add_alone(database, "c")
        )
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting), 3 * pool.AWAY_PAUSE)
        await wire.join()
        counted, has_row, _, added = await waiting
        assert (counted in (1, 2, 3), has_row, added) == (True, True, 1)
        assert await count(database) == 3


async def test_a_read_that_is_cut_between_two_statements_goes_on(make_url):
    async with behind_a_wire(make_url()) as (database, wire):
        await add(database, "a")
        async with database.read() as db:
            assert await BY_ID.first(db, id="a")
            await wire.cut()
            await wire.join()
            assert await BY_ID.first(db, id="a")
            await wire.cut()
            await wire.join()
            assert (await db.execute(select(func.count()).select_from(outbox))).scalar_one() == 1


async def test_a_transaction_that_is_cut_is_neither_repeated_nor_taken_for_done(make_url):
    async with behind_a_wire(make_url()) as (database, wire):

        async def write() -> None:
            async with database.transaction() as tx:
                await tx.execute(insert(tx, outbox).values(row("a")))
                await wire.cut()
                await wire.join()
                await BY_ID.first(tx, id="a")

        with pytest.raises(DBAPIError) as failed:
            await write()
        assert is_away(failed.value)
        assert await count(database) == 0


async def test_nobody_waits_for_a_database_that_is_away_for_long(make_url, monkeypatch):
    async with behind_a_wire(make_url()) as (database, wire):
        await wire.cut()
        monkeypatch.setattr(pool, "AWAY_SECONDS", 0.0)
        for use in (count(database), add(database, "a"), add_alone(database, "a")):
            with pytest.raises(DatabaseUnavailable) as refused:
                await use
            assert refused.value.status == 503
            assert refused.value.headers["Retry-After"]


async def test_a_read_that_is_cut_for_good_says_that_the_database_is_away(make_url, monkeypatch):
    """A connection that is closed and finds no other one is not closed again."""
    async with behind_a_wire(make_url()) as (database, wire):
        await add(database, "a")

        async def read() -> None:
            async with database.read() as db:
                assert await BY_ID.first(db, id="a")
                await wire.cut()
                await BY_ID.first(db, id="a")

        monkeypatch.setattr(pool, "AWAY_SECONDS", 0.0)
        with pytest.raises(DatabaseUnavailable):
            await read()
        await wire.join()
        monkeypatch.undo()
        assert await count(database) == 1


async def test_a_statement_that_is_alone_runs_again_when_its_connection_is_cut(make_url):
    async with behind_a_wire(make_url()) as (database, wire):
        calls = 0

        async def write(db: Executor) -> int:
            nonlocal calls
            calls += 1
            if calls == 1:
                await ADD.run(db, **row("a"))  # and its answer is lost
                await wire.cut()
                await wire.join()
            return await ADD.run(db, **row("a"))

        assert (await database.run_alone(write), calls) == (0, 2)
        assert await count(database) == 1


async def test_a_connection_that_was_ended_but_not_closed_is_replaced(make_url):
    async with behind_a_wire(make_url()) as (database, wire):
        await add(database, "a")
        await wire.announce_end()
        for _ in range(100):  # until the driver has read it
            await asyncio.sleep(0)
        await add(database, "b")
        await wire.announce_end()
        for _ in range(100):
            await asyncio.sleep(0)
        assert await has(database, "b")


async def test_a_connection_whose_block_was_cancelled_is_not_used_again(make_url):
    async with behind_a_wire(make_url()) as (database, _):
        drivers = []

        async def read(event: asyncio.Event) -> None:
            async with database.read() as db:
                drivers.append(db.driver)
                event.set()
                await asyncio.Event().wait()

        started = asyncio.Event()
        reader = asyncio.create_task(read(started))
        await started.wait()
        reader.cancel()
        await asyncio.wait([reader])
        async with database.read() as db:
            assert db.driver is not drivers[0]
