"""Prepared statements: the same on both databases, whether SQLAlchemy runs them or the driver."""

from datetime import datetime

import pytest
from sqlalchemy import JSON, Column, Integer, MetaData, String, Table, bindparam, func, select, true, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError, StatementError

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import each_of
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow

from .messaging_world import metadata

pytestmark = pytest.mark.both_databases

outbox = metadata.tables["outbox"]
counted = Table("tally", MetaData(), Column("name", String(60)), Column("count", Integer, default=7))
MOMENT = now()


class AddedRow(TypedRow):
    id: str
    created_at: datetime


class MisspeltRow(TypedRow):
    identifier: str


ADD = PreparedWrite(
    postgresql.insert(outbox)
    .values({column: bindparam(column) for column in ("id", "key", "type", "payload", "created_at")})
    .on_conflict_do_nothing()
    .returning(outbox.c.id, outbox.c.created_at)
)
RENAME = PreparedWrite(
    update(outbox).where(outbox.c.key == bindparam("old")).values(key=bindparam("new"), type="renamed")
)
SHARED = ("key", "type", "payload", "created_at")
IDS = each_of("ids", String()).table_valued("value")
RECEIVE = PreparedWrite(
    postgresql.insert(outbox)
    .from_select(
        ["id", *SHARED],
        select(
            IDS.c.value,
            *(bindparam(name, type_=outbox.c[name].type).label(name) for name in SHARED),
        ).where(true()),
    )
    .on_conflict_do_nothing()
    .returning(outbox.c.id, outbox.c.created_at)
)


def row(id_: str, **more: object) -> dict:
    return {"id": id_, "key": "k", "type": "t", "payload": b"{}", "created_at": MOMENT, **more}


async def test_a_write_gives_back_what_it_did(database):
    async with database.transaction() as tx:
        added = await ADD.first(tx, AddedRow, **row("a"))
        again = await ADD.first(tx, AddedRow, **row("a"))
        await ADD.first(tx, AddedRow, **row("b"))
        changed = [await RENAME.run(tx, old="k", new="n") for _ in range(2)]
        rows = (await tx.execute(select(outbox.c.key, outbox.c.type))).all()

    assert (added.id, added.created_at, again) == ("a", MOMENT, None)
    assert changed == [2, 0]
    assert [tuple(one) for one in rows] == [("n", "renamed")] * 2


async def test_a_prepared_write_is_made_for_each_of_many(database):
    async with database.transaction() as tx:
        await ADD.each(tx, [row(id_) for id_ in ("a", "b", "a")])
        rows = (await tx.execute(select(outbox.c.id).order_by(outbox.c.id))).scalars().all()

    assert rows == ["a", "b"]


async def test_a_prepared_write_that_fails_fails_its_transaction(database):
    async def write() -> None:
        async with database.transaction() as tx:
            await ADD.first(tx, AddedRow, **row("a"))
            await ADD.first(tx, AddedRow, **row("b", payload=None))

    with pytest.raises(IntegrityError):
        await write()
    async with database.read() as db:
        assert (await db.execute(select(func.count()).select_from(outbox))).scalar_one() == 0


async def test_a_prepared_write_without_one_of_its_values_is_not_run(database):
    async with database.transaction() as tx:
        with pytest.raises((KeyError, StatementError), match="new"):
            await RENAME.run(tx, old="k")


def test_a_prepared_write_refuses_columns_that_would_not_arrive():
    table = Table("made", MetaData(), Column("data", JSON))
    with pytest.raises(ValueError, match="data is of a type"):
        PreparedWrite(table.insert().returning(table.c.data))


async def test_a_prepared_write_knows_the_defaults_of_columns(database):
    async with database.transaction() as tx:
        await PreparedWrite(counted.insert().values(name=bindparam("name"))).run(tx, name="a")
        (rows,) = (await tx.execute(select(counted))).all()

    assert (rows.name, rows.count) == ("a", 7)


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_prepared_write_refuses_defaults_that_are_made_anew_each_time(database):
    table = Table("made", MetaData(), Column("at", Integer), Column("id", Integer, default=lambda: 1))
    async with database.transaction() as tx:
        with pytest.raises(ValueError, match=r"made\.id is no constant"):
            await PreparedWrite(table.insert().values(at=bindparam("at"))).run(tx, at=1)


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_prepared_write_refuses_values_that_would_not_arrive(database):
    table = Table("made", MetaData(), Column("data", JSON))
    async with database.transaction() as tx:
        with pytest.raises(ValueError, match="data is of a type"):
            await PreparedWrite(table.insert().values(data=bindparam("data"))).run(tx, data={})


def test_a_query_refuses_a_row_type_with_a_column_that_it_does_not_select():
    with pytest.raises(TypeError, match="identifier"):
        PreparedQuery(select(outbox.c.id), MisspeltRow)


async def test_a_write_refuses_a_row_type_with_a_column_that_it_does_not_return(database):
    async with database.transaction() as tx:
        with pytest.raises(TypeError, match="identifier"):
            await ADD.first(tx, MisspeltRow, **row("a"))


async def test_a_prepared_write_adds_a_row_for_each_value_of_a_list_and_gives_back_the_new_ones(database):
    async with database.transaction() as tx:
        await ADD.run(tx, **row("b"))
        shared = {name: value for name, value in row("").items() if name != "id"}
        rows = await RECEIVE.all(tx, AddedRow, ids=["a", "b", "c"], **shared)
        nothing = await RECEIVE.all(tx, AddedRow, ids=[], **shared)

    assert sorted((one.id, one.created_at) for one in rows) == [("a", MOMENT), ("c", MOMENT)]
    assert not nothing


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (outbox.c.id.in_(bindparam("ids", type_=String, expanding=True)), "ids is a list of an IN"),
        (outbox.c.id.in_(["a", "b"]), "is a list of an IN"),
        (outbox.c.key == "k", "'k' stands in the statement"),
        (outbox.c.key == bindparam("key", "k"), "'k' stands in the statement"),
        (outbox.c.seq.in_(select(outbox.c.seq).limit(3)), "3 stands in the statement"),
        (func.length(outbox.c.key) == bindparam("data", type_=JSON), "data is of a type"),
        (func.coalesce(bindparam("untyped")) == func.now(), "untyped is of a type"),
    ],
)
def test_a_prepared_query_refuses_values_with_which_one_database_would_fail(condition, message):
    with pytest.raises(ValueError, match=message):
        PreparedQuery(select(outbox.c.id, outbox.c.created_at).where(condition), AddedRow)
