"""Lists of hooks look at as many rows among many others as among few."""

import pytest
from sqlalchemy import text

from ingot_chassis.http.paging import Page
from ingot_chassis.testing.service import rows_touched
from ingot_hooks.store import hooks
from ingot_hooks.store.hooks import Owner

from .builders import hook
from .world import HOOKS

pytestmark = pytest.mark.both_databases

FEW, MANY = 200, 4_000
CONSTANT = 300
"""PostgreSQL reads a table of a few pages as a whole."""
OTHERS = 1_000


async def fill(db, first, last):
    """A hook of one other repository for each number."""
    async with db.transaction() as tx:
        table = hooks.hook
        row = dict((await tx.execute(table.select().where(table.c.repository_id == 7))).mappings().first())
        del row["id"]
        rows = [row | {"repository_id": OTHERS + number} for number in range(first, last + 1)]
        await tx.execute(table.insert(), rows)
    if not db.is_sqlite:
        async with db.transaction() as tx:
            await tx.execute(text("ANALYZE"))


async def test_lists_look_at_as_many_rows_among_twenty_times_as_many(world):
    for _ in range(3):
        answer = await world.call("POST", HOOKS, hook("http://receiver.test/"))
        assert answer.status_code == 201, answer.text
    reads = {
        "hooks of a repository": lambda tx: hooks.list_page(tx, Owner(repository_id=7), Page(1, 20)),
        "active hooks": lambda tx: hooks.list_active(tx, [7], [1]),
    }
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill(world.db, first, last)
        touched.append({name: await rows_touched(world.db, read) for name, read in reads.items()})
    few, many = touched
    assert {name: (few[name], many[name]) for name in few if many[name] > 1.5 * few[name] + CONSTANT} == {}
    async with world.db.read() as db:
        assert (await hooks.list_page(db, Owner(repository_id=7), Page(1, 20)))[1] == 3
