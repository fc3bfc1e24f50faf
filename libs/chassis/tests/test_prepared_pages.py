"""Pages by prepared statements: the same rows and totals as of the list itself, from either end."""

import pytest
from sqlalchemy import Integer, bindparam, func, select

from ingot_chassis.db.prepared_pages import NEAR, PreparedPage
from ingot_chassis.db.rows import TotalRow, count_of
from ingot_chassis.http.paging import Page
from ingot_testing.service import count_statements, rows_of_pages

from .messaging_world import tally

pytestmark = pytest.mark.both_databases

SIZE = 3 * NEAR
OF_COUNT = tally.c.count == bindparam("of", type_=Integer)
ORDER = func.length(tally.c.name), tally.c.name.desc()
IDS = select(tally.c.name).where(OF_COUNT)


class ListedTallyRow(TotalRow):
    name: str
    count: int


PAGES = {
    "whole rows": PreparedPage(select(tally).where(OF_COUNT), ListedTallyRow, *ORDER),
    "ids first": PreparedPage(select(tally), ListedTallyRow, *ORDER, ids=IDS),
    "counted by another statement": PreparedPage(
        select(tally), ListedTallyRow, *ORDER, ids=IDS, count=count_of(IDS)
    ),
    "counted in the same walk": PreparedPage(
        select(tally).where(OF_COUNT), ListedTallyRow, *ORDER, count=count_of(IDS), total=func.count().over()
    ),
    "counted up to more": PreparedPage(
        select(tally), ListedTallyRow, *ORDER, ids=IDS, count_at_most=SIZE + 1
    ),
}


@pytest.fixture
async def names(database):
    """Those of the list, in its order; there are as many others."""
    async with database.transaction() as tx:
        rows = [{"name": f"{kind}{n}", "count": kind} for n in range(SIZE) for kind in (1, 2)]
        await tx.execute(tally.insert(), rows)
        listed = await tx.execute(select(tally.c.name).where(tally.c.count == 1).order_by(*ORDER))
        return list(listed.scalars())


@pytest.mark.parametrize("name", PAGES)
async def test_pages_go_on_where_those_before_end(database, names, name):
    def list_page(tx, page):
        return PAGES[name].read(tx, page, of=1)

    assert [row.name for row in await rows_of_pages(database, list_page, limit=70)] == names
    async with database.read() as db:
        assert await PAGES[name].count(db, of=1) == SIZE
        assert await PAGES[name].count(db, of=3) == 0
        for number in (1, 2, SIZE):
            assert await PAGES[name].read(db, Page(number, 70), of=3) == ([], 0)


async def test_a_list_that_is_counted_up_to_a_bound_goes_on_behind_it(database, names):
    bounded = PreparedPage(select(tally), ListedTallyRow, *ORDER, ids=IDS, count_at_most=NEAR)
    async with database.read() as db:
        for number in (1, NEAR // 50, SIZE // 50):
            rows, total = await bounded.read(db, Page(number, 50), of=1)
            assert ([row.name for row in rows], total) == (names[number * 50 - 50 : number * 50], NEAR)
        assert await bounded.read(db, Page(SIZE // 50 + 1, 50), of=1) == ([], NEAR)


async def test_what_the_caller_has_is_not_counted(database, names):
    async with database.read() as db:
        for number in (1, 2, SIZE // 50):
            rows, total = await PAGES["ids first"].read(db, Page(number, 50), SIZE, of=1)
            assert ([row.name for row in rows], total) == (names[number * 50 - 50 : number * 50], SIZE)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_page_near_the_beginning_is_one_statement(database, names):
    for number, most in ((1, 1), (NEAR // 50, 1), (NEAR // 50 + 1, 2), (SIZE // 50, 2)):
        with count_statements(database) as statements:
            async with database.read() as db:
                rows, _ = await PAGES["ids first"].read(db, Page(number, 50), of=1)
        assert (rows[0].name, len(statements)) == (names[number * 50 - 50], most)
