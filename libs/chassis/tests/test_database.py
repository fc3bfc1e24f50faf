"""Reads and transactions on connections that are kept: nothing of one use is left to the next."""

import asyncio
import resource
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime

import pytest
from sqlalchemy import JSON, bindparam, func, literal, literal_column, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import is_full
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.transaction import insert
from ingot_chassis.errors import Unavailable

from .messaging_world import metadata

pytestmark = pytest.mark.both_databases

outbox = metadata.tables["outbox"]
CUT_THE_OTHERS = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
on_sqlite = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)


async def count(database) -> int:
    async with database.read() as db:
        return (await db.execute(select(func.count()).select_from(outbox))).scalar_one()


def row(id_: str) -> dict:
    return {"id": id_, "key": "k", "type": "t", "payload": b"{}", "created_at": now(), "traceparent": ""}


async def test_a_read_sees_what_was_committed_after_its_connection_was_opened(database):
    assert await count(database) == 0
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("a")))
    assert await count(database) == 1


async def test_transactions_that_are_alone_with_a_name_see_what_those_before_have_left(database):
    async def add_the_first(id_: str) -> None:
        async with database.transaction() as tx:
            await tx.advisory_lock("outbox")
            if not (await tx.execute(select(func.count()).select_from(outbox))).scalar_one():
                await tx.execute(insert(tx, outbox).values(**row(id_)))

    await asyncio.gather(*(add_the_first(id_) for id_ in "abcdef"))
    assert await count(database) == 1


async def test_a_transaction_that_failed_leaves_nothing_to_the_next(database):
    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("b")))
    assert await count(database) == 1


async def test_a_statement_that_is_alone_is_a_transaction(database):
    columns = row("a")
    adding = PreparedWrite(
        outbox.insert().values({name: bindparam(name) for name in columns}).returning(outbox.c.id)
    )
    for id_ in "ab":
        added = await database.run_alone(lambda db, id_=id_: adding.first(db, IdRow, **row(id_)))
        assert added.id == id_
    with pytest.raises(IntegrityError):
        await database.run_alone(lambda db: adding.run(db, **row("a")))
    assert await count(database) == 2


async def test_a_statement_that_failed_leaves_a_connection_that_works(database):
    for _ in range(2):
        with pytest.raises(DBAPIError):
            async with database.read() as db:
                await db.execute(text("SELECT * FROM nowhere"))
    assert await count(database) == 0


@on_sqlite
async def test_a_quota_that_is_used_up_is_a_full_disk(database):
    async def add(id_: str) -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row(id_)))

    await add("a")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(DBAPIError) as refused:
            await add("b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert is_full(refused.value)
    await add("c")
    assert await count(database) == 2


@pytest.mark.parametrize(
    ("name", "is_disk_full"),
    [
        ("SQLITE_FULL", True),
        ("SQLITE_IOERR", True),
        ("SQLITE_IOERR_WRITE", True),
        ("SQLITE_IOERR_SHMSIZE", True),
        ("SQLITE_IOERR_READ", False),
        ("SQLITE_BUSY", False),
    ],
)
def test_a_full_disk_is_known_by_each_code_of_a_failed_write(name, is_disk_full):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = getattr(sqlite3, name)
    assert is_full(DBAPIError("DELETE FROM outbox", {}, error)) == is_disk_full


@on_postgresql
@pytest.mark.parametrize(("code", "is_disk_full"), [("disk_full", True), ("unique_violation", False)])
async def test_a_full_disk_is_known_by_its_code(database, code, is_disk_full):
    raising = f"DO $$ BEGIN RAISE 'No space left on device' USING ERRCODE = '{code}'; END $$"
    with pytest.raises(DBAPIError) as refused:
        async with database.transaction() as tx:
            await tx.execute(text(raising))
    assert is_full(refused.value) == is_disk_full


async def leave_in_the_middle(ask: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Cancel ``ask`` once it has set the event, more often than there are connections."""
    for _ in range(12):
        started = asyncio.Event()
        asking = asyncio.ensure_future(ask(started))
        await started.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@on_postgresql
async def test_a_caller_who_leaves_in_the_middle_leaves_nothing_behind(database):
    async def ask(started: asyncio.Event) -> None:
        async with database.read() as db:
            started.set()
            await db.execute(text("SELECT pg_sleep(60)"))

    await leave_in_the_middle(ask)
    assert await count(database) == 0


@on_postgresql
async def test_a_server_that_cut_the_connections_costs_a_read_no_error(database):
    async with database.read() as one, database.read() as two:
        for db in (one, two):
            await db.execute(select(literal(1)))
    async with database.transaction() as tx:
        await tx.execute(CUT_THE_OTHERS)
    for _ in range(3):
        assert await count(database) == 0  # it was perhaps not heard yet that they were cut


@on_postgresql
@pytest.mark.parametrize("ending", ["commit", "statement"])
async def test_a_transaction_whose_connection_is_cut_fails_and_leaves_nothing_behind(database, ending):
    async def write() -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))
            async with database.read() as db:
                await db.execute(CUT_THE_OTHERS)
            if ending == "statement":
                await tx.execute(select(literal(1)))

    with pytest.raises(DBAPIError):
        await write()
    for _ in range(3):
        async with database.transaction() as tx:
            await tx.execute(select(literal(1)))
    assert await count(database) == 0


@on_postgresql
async def test_a_caller_who_leaves_a_transaction_in_the_middle_leaves_nothing_behind(database):
    async def ask(started: asyncio.Event) -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))
            started.set()
            await tx.execute(text("SELECT pg_sleep(60)"))

    await leave_in_the_middle(ask)
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("b")))
    assert await count(database) == 1


@on_sqlite
async def test_callers_who_leave_transactions_that_wait_for_a_lock_leave_nothing_behind(database):
    async def ask(started: asyncio.Event) -> None:
        started.set()
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))

    async with database.transaction():
        pass  # its connection is open now, so the next one begins by waiting for the lock
    other = sqlite3.connect(database.url.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    asking, started = [], asyncio.Event()
    for _ in range(3):
        asking.append(asyncio.ensure_future(ask(started)))
        await started.wait()
        asking[-1].cancel()
    other.close()
    assert [type(end) for end in await asyncio.gather(*asking, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * 3
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("b")))
    assert await count(database) == 1


@on_sqlite
async def test_a_transaction_that_is_cancelled_at_any_moment_ends_as_cancelled_and_leaves_nothing_behind(
    database,
):
    ends = []

    async def work() -> None:
        try:
            async with database.transaction() as tx:
                await tx.execute(insert(tx, outbox).values(**row("a")))
                await asyncio.Event().wait()
        except BaseException as error:
            ends.append(type(error))
            raise

    for turns in range(60):
        working = asyncio.ensure_future(work())
        for _ in range(turns):
            await asyncio.sleep(0.0002)
        working.cancel()
        await asyncio.wait({working})
        assert working.cancelled()
    assert set(ends) == {asyncio.CancelledError}
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("b")))
    assert await count(database) == 1


@on_sqlite
async def test_a_cancelled_transaction_has_released_its_lock_when_its_caller_records_the_end(database):
    async def work() -> None:
        try:
            async with database.transaction() as tx:
                await tx.execute(insert(tx, outbox).values(**row("a")))
                await tx.execute(select(outbox))
                await tx.execute(update(outbox).values(type="b").returning(outbox.c.id))
                await asyncio.Event().wait()
        finally:  # the traceback of the cancellation, which holds the cursors, is still alive
            async with database.transaction() as tx:
                await tx.execute(insert(tx, outbox).values(**row(f"end {turns}")))

    for turns in range(100):
        working = asyncio.ensure_future(work())
        for _ in range(turns):
            await asyncio.sleep(0.0001)
        working.cancel()
        await asyncio.wait({working})
        assert working.cancelled()
    assert await count(database) == 99  # the first was cancelled before it began


@on_sqlite
async def test_a_statement_without_end_is_interrupted_when_its_caller_is_cancelled(database):
    endless = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")

    async def ask(started: asyncio.Event) -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))
            started.set()
            await tx.execute(endless)

    await leave_in_the_middle(ask)
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("b")))
    assert await count(database) == 1


@on_sqlite
async def test_who_waits_too_long_for_the_lock_of_another_process_is_told(database):
    async with database.transaction() as tx:
        await tx.execute(text("PRAGMA busy_timeout=1"))
    other = sqlite3.connect(database.url.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DBAPIError, match="locked"):
        async with database.transaction():
            pass
    other.close()
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("a")))
    assert await count(database) == 1


@on_postgresql
async def test_a_prepared_query_that_fails_in_a_transaction_fails_it(database):
    async def write() -> None:
        async with database.transaction() as tx:
            await tx.execute(insert(tx, outbox).values(**row("a")))
            await BY_KEY.first(tx, id="\0", key="k")

    with pytest.raises(DBAPIError):
        await write()
    assert await count(database) == 0


async def test_who_waits_too_long_for_a_connection_is_told_that_the_database_is_overloaded(
    database, monkeypatch
):
    monkeypatch.setattr("ingot_chassis.db.pool.WAIT_SECONDS", 0.0)
    async with AsyncExitStack() as stack:

        async def take_all() -> None:
            for _ in range(13):  # more than there are
                await stack.enter_async_context(database.read())

        with pytest.raises(Unavailable, match="overloaded"):
            await take_all()


class OutboxRow(TypedRow):
    id: str
    key: str
    created_at: datetime


class IdRow(TypedRow):
    id: str


BY_KEY = PreparedQuery(
    select(outbox.c.id, outbox.c.key, outbox.c.created_at).where(
        outbox.c.id == bindparam("id"), outbox.c.key == bindparam("key")
    ),
    OutboxRow,
)


@pytest.mark.parametrize("way", ["read", "transaction"])
async def test_a_prepared_query_finds_the_row_by_its_names(database, way):
    values = row("a")
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**values))
    async with getattr(database, way)() as db:
        rows = await BY_KEY.first(db, key="k", id="a")
        missing = await BY_KEY.first(db, key="other", id="a")

    assert (rows.id, rows.key, rows.created_at) == ("a", "k", values["created_at"])
    assert missing is None


@pytest.mark.parametrize("way", ["read", "transaction"])
async def test_a_prepared_query_finds_all_rows(database, way):
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values([row("a"), row("b")]))
    every = PreparedQuery(
        select(outbox.c.id).where(outbox.c.key == bindparam("key")).order_by(outbox.c.id), IdRow
    )
    async with getattr(database, way)() as db:
        rows = await every.all(db, key="k")
        none = await every.all(db, key="other")

    assert [one.id for one in rows] == ["a", "b"]
    assert list(none) == []


async def test_a_prepared_query_in_a_transaction_sees_what_the_transaction_did(database):
    async with database.transaction() as tx:
        await tx.execute(insert(tx, outbox).values(**row("a")))
        assert await BY_KEY.first(tx, id="a", key="k") is not None


@on_postgresql
async def test_a_prepared_query_on_a_connection_that_was_cut_costs_no_error(database):
    async with database.read() as db:
        await BY_KEY.first(db, id="a", key="k")
    async with database.transaction() as tx:
        await tx.execute(CUT_THE_OTHERS)
    async with database.read() as db:
        assert await BY_KEY.first(db, id="a", key="k") is None


@pytest.mark.parametrize(
    "columns",
    [
        [outbox.c.id, func.lower(outbox.c.key)],
        [outbox.c.id, outbox.c.key.label("id")],
        [outbox.c.id, literal_column("'{}'", JSON).label("payload")],
    ],
    ids=["no name", "a name twice", "JSON"],
)
def test_a_prepared_query_refuses_columns_that_would_not_arrive(columns):
    with pytest.raises(ValueError, match=r"needs a name|does not convert"):
        PreparedQuery(select(*columns), TypedRow)


@on_postgresql
async def test_who_holds_a_lock_learns_that_its_connection_was_cut(database):
    async def hold() -> None:
        async with database.exclusive("a") as mine:
            assert mine
            async with database.read() as db:
                await db.execute(CUT_THE_OTHERS)
            async with asyncio.timeout(20):
                while mine:
                    await asyncio.sleep(0)

    with pytest.raises(DBAPIError):
        await hold()
    async with database.exclusive("a") as mine:
        assert mine


async def test_holders_of_locks_do_not_starve_each_other_of_connections(make_url):
    """A relay and several consumers each hold a lock and open a transaction under it. The pool is minimal."""
    database = Database(make_url(), metadata, pool=1)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)

        async def hold(name):
            async with database.exclusive(name) as mine, database.transaction() as tx:
                assert mine
                await tx.execute(select(outbox))

        async with asyncio.timeout(20):
            await asyncio.gather(*(hold(f"lock {number}") for number in range(6)))
