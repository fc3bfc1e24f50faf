"""Stars and watches are counted as they come and go."""

import pytest

from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import STARS, WATCHES
from ingot_testing.service import change_at_once, rows_touched

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def app(ann):
    return (await ann.create("app"))["id"]


async def counts(world):
    [row] = await world.rows("repository")
    return row.stars_count, row.watchers_count


async def test_what_changes_nothing_is_not_counted(world, app):
    before = await counts(world)
    async with world.database.transaction() as tx:
        for relation in (STARS, WATCHES):
            for user_id in (7, 8, 7):
                await stars_and_watches.add(tx, relation, app, user_id)
            for user_id in (8, 9, 8):
                await stars_and_watches.remove(tx, relation, app, user_id)
    assert await counts(world) == (before[0] + 1, before[1] + 1)
    async with world.database.transaction() as tx:
        await stars_and_watches.remove_user(tx, 7)
    assert await counts(world) == before


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_two_stars_that_come_at_once_are_both_counted(world, app):
    def star(user_id):
        return lambda tx: stars_and_watches.add(tx, STARS, app, user_id)

    await change_at_once(world.database, star(7), star(8))
    assert (await counts(world))[0] == 2


async def test_a_star_is_counted_without_a_look_at_the_others(world, app):
    at = {"repository_id": app, "created_at": (await world.rows("repository"))[0].created_at}
    async with world.database.transaction() as tx:
        await tx.execute(STARS.table.insert(), [{"user_id": number, **at} for number in range(100, 2_100)])
    assert await rows_touched(world.database, lambda tx: stars_and_watches.add(tx, STARS, app, 7)) < 500
