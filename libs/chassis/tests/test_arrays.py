"""Lists as one value of a statement, on both databases."""

import pytest
from sqlalchemy import select, text

from ingot_chassis.db.arrays import any_of, any_of_few, json_rows, rows_of
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.transaction import insert

from .messaging_world import tally

pytestmark = pytest.mark.both_databases


class TallyRow(TypedRow):
    name: str
    count: int


BY_NAMES = PreparedQuery(
    select(tally.c.name, tally.c.count).where(any_of(tally.c.name, "names")).order_by(tally.c.name), TallyRow
)
BY_COUNTS = PreparedQuery(
    select(tally.c.name, tally.c.count).where(any_of(tally.c.count, "counts")).order_by(tally.c.name),
    TallyRow,
)
BY_FEW_NAMES = PreparedQuery(
    select(tally.c.name, tally.c.count).where(any_of_few(tally.c.name, "names")).order_by(tally.c.name),
    TallyRow,
)


@pytest.mark.parametrize(
    ("query", "values", "names"),
    [
        (BY_NAMES, {"names": ["a", "c", "'\"ä"]}, ["'\"ä", "a"]),
        (BY_NAMES, {"names": []}, []),
        (BY_FEW_NAMES, {"names": ["a", "c", "'\"ä"]}, ["'\"ä", "a"]),
        (BY_FEW_NAMES, {"names": []}, []),
        (BY_COUNTS, {"counts": [1, 2]}, ["a", "b"]),
        (BY_COUNTS, {"counts": {3}}, ["'\"ä"]),
    ],
)
async def test_a_list_is_one_value_of_a_prepared_query(database, query, values, names):
    async with database.transaction() as tx:
        for number, name in enumerate(("a", "b", "'\"ä"), start=1):
            await tx.execute(insert(tx, tally).values(name=name, count=number))
    async with database.read() as db:
        rows = await query.all(db, **values)
    assert [row.name for row in rows] == names


NUMBERS = rows_of("rows", "first", "second")
SWAPPED = PreparedQuery(
    select(NUMBERS.c.second.label("name"), NUMBERS.c.first.label("count")).order_by(NUMBERS.c.first), TallyRow
)


@pytest.mark.parametrize("rows", [[], [(1, 7)], [(1, -7), (2, 2**60)]])
async def test_rows_of_numbers_are_one_value_of_a_prepared_query(database, rows):
    async with database.read() as db:
        swapped = await SWAPPED.all(db, rows=json_rows(rows))
    assert [(row.count, row.name) for row in swapped] == rows


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("query", "is_planned_once"), [(BY_NAMES, False), (BY_FEW_NAMES, True)])
async def test_a_list_of_few_is_planned_once(database, query, is_planned_once):
    async with database.transaction() as tx:
        await tx.execute(insert(tx, tally), [{"name": f"name {n}", "count": n} for n in range(5000)])
    async with database.read() as db:
        await db.execute(text("ANALYZE tally"))
        for n in range(12):
            await query.all(db, names=[f"name {n}"])
        plans = text(
            "SELECT sum(generic_plans) FROM pg_prepared_statements WHERE statement LIKE 'SELECT tally%'"
        )
        assert ((await db.execute(plans)).scalar_one() > 0) == is_planned_once
