"""Short reads on SQLite: the same rows as in the thread, and none if they may be wrong or slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, bindparam, func, literal_column, select
from sqlalchemy.exc import OperationalError

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.database import Database
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.short_reads import MOST_TICKS, TICK
from ingot_chassis.db.sqlite import LONGEST_VALUE
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_testing.service import count_statements

from .messaging_world import metadata

pytestmark = pytest.mark.both_databases

on_sqlite = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
outbox = metadata.tables["outbox"]
MOMENT = now()


class EventRow(TypedRow):
    id: str
    created_at: datetime
    sent_at: datetime | None
    is_old: bool


class NumberRow(TypedRow):
    number: int


class PayloadRow(TypedRow):
    payload: bytes


BY_IDS = PreparedQuery(
    select(
        outbox.c.id,
        outbox.c.created_at,
        outbox.c.sent_at,
        (outbox.c.created_at <= bindparam("at", type_=UtcDateTime)).label("is_old"),
    )
    .where(any_of(outbox.c.id, "ids"))
    .order_by(outbox.c.seq),
    EventRow,
)
PAYLOADS = PreparedQuery(select(outbox.c.payload), PayloadRow)
NOWHERE = PreparedQuery(select(Table("nowhere", MetaData(), Column("number", Integer)).c.number), NumberRow)


def count_up(number: int) -> PreparedQuery[NumberRow]:
    """A query that takes more than ``number`` instructions of SQLite."""
    numbers = select(literal_column("1", Integer).label("number")).cte(recursive=True)
    more = numbers.union_all(
        select(numbers.c.number + literal_column("1", Integer)).where(
            numbers.c.number < literal_column(str(number), Integer)
        )
    )
    return PreparedQuery(select(func.max(more.c.number).label("number")), NumberRow)


@contextmanager
def count_beside(database: Database) -> Iterator[list[object]]:
    """Yield a list that grows with every statement that is run in the thread."""
    here = database.short_reads
    with count_statements(database) as statements:
        database.short_reads = here
        yield statements


async def add(database: Database, *ids: str) -> None:
    async with database.transaction() as tx:
        rows = [{"id": id_, "key": "k", "type": "t", "payload": b"{}", "created_at": MOMENT} for id_ in ids]
        await tx.execute(insert(tx, outbox).values(rows))


@pytest.mark.parametrize("way", ["short", "driver", "SQLAlchemy"])
async def test_a_row_is_the_same_wherever_it_is_read(database, way):
    await add(database, "a", "b", "c")
    if way != "short":
        database.short_reads = None
    database.uses_drivers = way != "SQLAlchemy"
    async with database.read() as db:
        first, other = await BY_IDS.all(db, ids=["a", "c"], at=MOMENT)
        alone = await BY_IDS.first(db, ids=["b"], at=MOMENT)
        nobody = await BY_IDS.first(db, ids=["x"], at=MOMENT)

    assert (first.id, first.created_at, first.sent_at, first.is_old) == ("a", MOMENT, None, True)
    assert (other.id, alone.id, nobody) == ("c", "b", None)
    assert tuple(first) == ("a", MOMENT, None, True)


@on_sqlite
async def test_a_short_read_is_not_run_beside(database):
    await add(database, "a")
    with count_beside(database) as statements:
        async with database.read() as db:
            assert await BY_IDS.first(db, ids=["a"], at=MOMENT)

    assert statements == []


async def test_a_short_read_sees_what_was_committed_before(database):
    async with database.read() as db:
        for id_ in ("a", "b"):
            assert await BY_IDS.first(db, ids=[id_], at=MOMENT) is None
            await add(database, id_)
            assert await BY_IDS.first(db, ids=[id_], at=MOMENT) is not None


async def test_a_transaction_reads_what_it_wrote(database):
    async with database.transaction() as tx:
        values = {"id": "a", "key": "k", "type": "t", "payload": b"{}", "created_at": MOMENT}
        await tx.execute(insert(tx, outbox).values(**values))
        assert await BY_IDS.first(tx, ids=["a"], at=MOMENT) is not None


async def test_nothing_is_seen_of_a_transaction_that_is_open(database):
    async with database.transaction() as tx, database.read() as db:
        values = {"id": "a", "key": "k", "type": "t", "payload": b"{}", "created_at": MOMENT}
        await tx.execute(insert(tx, outbox).values(**values))
        assert await BY_IDS.first(db, ids=["a"], at=MOMENT) is None


@on_sqlite
async def test_a_long_read_is_run_beside_and_short_ones_stay(database):
    last = TICK * (MOST_TICKS + 1)
    long = count_up(last)
    with count_beside(database) as statements:
        async with database.read() as db:
            assert (await long.first(db)).number == last
            for _ in range(last // 100):
                assert (await count_up(2).first(db)).number == 2

    assert len(statements) == 1


@on_sqlite
@pytest.mark.parametrize(("length", "beside"), [(LONGEST_VALUE - 1000, 0), (LONGEST_VALUE + 1, 1)])
async def test_a_read_of_long_values_is_run_beside(database, length, beside):
    """SQLite does not count the bytes that it copies: rows of megabytes would take one tick."""
    async with database.transaction() as tx:
        row = {"id": "a", "key": "k", "type": "t", "payload": bytes(length), "created_at": MOMENT}
        await tx.execute(insert(tx, outbox).values(row))
    with count_beside(database) as statements:
        async with database.read() as db:
            assert (await PAYLOADS.first(db)).payload == bytes(length)

    assert len(statements) == beside


@on_sqlite
async def test_a_short_read_that_fails_fails_as_beside(database):
    async with database.read() as db:
        with pytest.raises(OperationalError, match="nowhere"):
            await NOWHERE.first(db)


async def test_a_short_read_without_one_of_its_values_is_not_run(database):
    async with database.read() as db:
        with pytest.raises(KeyError, match="ids"):
            await BY_IDS.first(db, at=MOMENT)


@on_sqlite
async def test_the_connection_of_short_reads_writes_nothing(database):
    here = database.short_reads
    assert here.fetch("DELETE FROM outbox", [], only_first=False) is None


async def test_letters_beyond_ascii_have_a_lower_case(database):
    lower = PreparedQuery(
        select(
            (func.lower(bindparam("text", type_=String)) == bindparam("low", type_=String)).label("number")
        ),
        NumberRow,
    )
    async with database.read() as db:
        assert (await lower.first(db, text="Ä", low="ä")).number in (1, True)
