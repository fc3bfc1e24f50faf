"""Lists of hooks and deliveries look at as many rows among many others as among few."""

import pytest

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import COUNTED
from ingot_chassis.http.paging import Page
from ingot_hooks.catalog.store import queries as hooks
from ingot_hooks.catalog.store.queries import Owner
from ingot_hooks.deliveries.store import queries as deliveries
from ingot_testing.service import analyze, page_costs, rows_of_pages, rows_touched

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
    await analyze(db)


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


async def fill_deliveries(db, number, body=b"x" * 3_000):
    """Add ``number`` deliveries of one hook, and some of another, with bodies as large as those of pushes."""
    at = now()
    values = {
        "repository_id": 7, "event": "push", "action": "", "manual": False,
        "endpoint": "http://receiver.test", "body": body, "sequence": 0, "state": "delivered", "attempts": 1,
        "next_attempt_at": at, "fence": 0, "status": 200, "response_headers": "{}",
        "response_body": b"x" * 300, "error": "", "created_at": at,
    }  # fmt: skip
    async with db.transaction() as tx:
        await tx.execute(
            deliveries.delivery.insert(),
            [
                {**values, "hook_id": hook_id, "id": f"{hook_id}-{n}", "event_id": str(n)}
                for n in range(number)
                for hook_id in (1, 2)
                if hook_id == 1 or n % 10 == 0
            ],
        )
    await analyze(db)


async def test_deliveries_before_a_page_are_counted_by_an_index(world):
    """The middle page walks along half of the index. The first page walks along none, but counts all rows."""
    await fill_deliveries(world.db, MANY)

    def deliveries_of_hook(tx, page):
        return deliveries.list_page(tx, 1, page)

    costs = await page_costs(world.db, deliveries_of_hook, MANY)
    assert costs.last <= 1.2 * costs.first + CONSTANT
    assert costs.middle <= 2.1 * costs.first + CONSTANT
    rows = await rows_of_pages(world.db, deliveries_of_hook)
    assert [row.id for row in rows] == [f"1-{n}" for n in reversed(range(MANY))]


async def test_deliveries_are_counted_up_to_a_bound(world):
    await fill_deliveries(world.db, COUNTED + 20, body=b"x")
    async with world.db.read() as db:
        for number, last in ((1, COUNTED + 20), (COUNTED // 20 + 1, 20)):
            rows, total = await deliveries.list_page(db, 1, Page(number, 20))
            assert ([row.id for row in rows], total) == ([f"1-{last - 1 - n}" for n in range(20)], COUNTED)
