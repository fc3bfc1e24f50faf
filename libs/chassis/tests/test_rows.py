"""Rows with types: checked against the columns of their statement, page by page, counted."""

from types import SimpleNamespace
from typing import Annotated, Literal

import msgspec
import pytest
from sqlalchemy import select

from ingot_chassis.db.rows import (
    TypedRow,
    backward,
    fetch_all,
    fetch_count,
    fetch_first,
    fetch_page,
    field_copier,
    walk_to,
)
from ingot_chassis.http.paging import Page
from ingot_testing.service import count_statements

from .messaging_world import tally

pytestmark = pytest.mark.both_databases


class TallyRow(TypedRow):
    name: str
    count: int


class MisspeltRow(TypedRow):
    nmae: str


@pytest.fixture
async def five(database):
    async with database.transaction() as tx:
        await tx.execute(tally.insert(), [{"name": f"n{n}", "count": n} for n in range(5)])
    return database


async def test_a_row_has_its_columns_as_attributes(five):
    async with five.read() as db:
        row = await fetch_first(db, select(tally).where(tally.c.count == 3), TallyRow)
        assert row is not None
        assert (row.name, row.count) == ("n3", 3)
        assert await fetch_first(db, select(tally).where(tally.c.count == 9), TallyRow) is None


async def test_a_misspelt_column_is_refused(five):
    async with five.read() as db:
        with pytest.raises(TypeError, match="nmae"):
            await fetch_all(db, select(tally), MisspeltRow)


@pytest.mark.parametrize(("number", "names"), [(1, ["n0", "n1"]), (3, ["n4"]), (4, [])])
async def test_a_page_comes_with_the_count_of_all(five, number, names):
    async with five.read() as db:
        rows, total = await fetch_page(db, select(tally), Page(number, 2), TallyRow, tally.c.name)
    assert ([row.name for row in rows], total) == (names, 5)


async def test_rows_are_counted_as_the_statement_chooses_them(five):
    async with five.read() as db:
        assert await fetch_count(db, select(tally).where(tally.c.count > 1).order_by(tally.c.name)) == 3
        assert await fetch_count(db, select(tally.c.count > 1).distinct()) == 2
        assert await fetch_count(db, select(tally).limit(2)) == 2


@pytest.mark.parametrize("total", [0, 1, 7, 10])
async def test_a_page_is_the_same_from_either_end(database, total):
    rows = [{"name": f"n{n}", "count": n % 3} for n in range(total)]
    order = tally.c.count.desc(), tally.c.name
    async with database.transaction() as tx:
        if rows:
            await tx.execute(tally.insert(), rows)
    backwards = []
    async with database.read() as db:
        for page in (Page(number, limit) for limit in (1, 2, 3, 20) for number in range(1, 12)):
            walk = walk_to(page, total)
            backwards.append(walk.backwards)
            statement = select(tally).order_by(*(backward(*order) if walk.backwards else order))
            rows = await fetch_all(db, statement.limit(walk.limit).offset(walk.offset), TallyRow)
            names = [row.name for row in rows]
            whole = await fetch_all(db, select(tally).order_by(*order), TallyRow)
            expected = [row.name for row in whole][page.offset : page.offset + page.limit]
            assert (names[::-1] if walk.backwards else names) == expected, page
            assert walk.offset <= total / 2
    assert any(backwards) == (total > 1)


@pytest.mark.parametrize("with_ids", [False, True])
async def test_pages_of_a_list_go_on_where_those_before_end(database, with_ids):
    names = [f"n{n:02}" for n in range(45)]
    async with database.transaction() as tx:
        await tx.execute(tally.insert(), [{"name": name, "count": 7} for name in (*names, "other")])
    is_listed = tally.c.name != "other"
    ids = select(tally.c.name).where(is_listed) if with_ids else None
    statement = select(tally) if with_ids else select(tally).where(is_listed)
    order = tally.c.count.desc(), tally.c.name
    async with database.read() as db:
        rows = []
        for number in range(1, 7):
            page, total = await fetch_page(db, statement, Page(number, 10), TallyRow, *order, ids=ids)
            rows += page
            assert total == 45
        with count_statements(database) as statements:
            async with database.read() as counted:
                await fetch_page(counted, statement, Page(5, 10), TallyRow, *order, ids=ids)
    assert [row.name for row in rows] == names
    assert len(statements) == 2
    assert "DESC" in statements[-1][0].rpartition("tally.name")[2]  # from the end on


async def test_a_list_that_is_counted_up_to_a_bound_goes_on_behind_it(five):
    for bound, counted in ((4, 4), (5, 5), (6, 5)):
        async with five.read() as db:
            rows = []
            for number in range(1, 5):
                page, total = await fetch_page(
                    db, select(tally), Page(number, 2), TallyRow, tally.c.name, count_at_most=bound
                )
                rows += [row.name for row in page]
                assert total == counted
        assert rows == [f"n{n}" for n in range(5)], bound


def test_nulls_change_sides_with_the_order():
    order = tally.c.count.desc().nulls_last(), tally.c.count.asc().nulls_first(), tally.c.name
    reverse = [str(column) for column in backward(*order)]
    assert reverse == ["tally.count ASC NULLS FIRST", "tally.count DESC NULLS LAST", "tally.name DESC"]
    assert [str(column) for column in backward(*backward(*order))][:2] == [str(one) for one in order[:2]]


class ShownRow(TypedRow):
    name: str
    size: int
    owner: int | None
    kind: Literal["a", "b"]
    hidden: str


class Shown(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=9)]
    kind: str
    url: str
    size: int = 0
    owner: int | None = None


SHOWN_ROW = SimpleNamespace(name="app", size=2048, owner=None, kind="a", hidden="x")


def test_fields_of_the_same_name_are_copied():
    copy = field_copier(ShownRow, Shown, without=("size",))
    assert copy(SHOWN_ROW) == {"name": "app", "owner": None, "kind": "a"}
    assert Shown(**copy(SHOWN_ROW), size=2, url="u") == Shown("app", "a", "u", 2)


class TextRow(TypedRow):
    name: str
    size: str


class OptionalRow(TypedRow):
    name: str | None
    size: int


@pytest.mark.parametrize(
    ("row_type", "without", "message"),
    [
        (TextRow, (), "size is .*str.* in TextRow, .*int.* in Shown"),
        (OptionalRow, (), "name is .*None in OptionalRow"),
        (ShownRow, ("hidden",), "do not both have .'hidden'"),
        (TextRow, ("size",), "fewer than two"),
    ],
)
def test_a_field_of_another_type_and_an_unknown_name_are_refused(row_type, without, message):
    with pytest.raises(TypeError, match=message):
        field_copier(row_type, Shown, without=without)
