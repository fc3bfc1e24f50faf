"""The cache of watchers: its age and its size."""

import asyncio
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_issues.notifications.jobs.watchers import ENTRY_PEOPLE, MAX_CLOCK_SKEW, Watchers

from ..builders import APP, FORK

pytestmark = pytest.mark.both_databases

MOMENT = timedelta(milliseconds=1)


def questions(world):
    return world.repos.operations().count("watchers")


async def test_one_question_does_for_all_that_happened_before_it(world):
    world.repos.watchers[APP] = [3]
    asked_at = now()
    watchers = Watchers(world.components.repos, clock=lambda: asked_at)
    assert await watchers.ids(APP, asked_at - MAX_CLOCK_SKEW) == [3]
    world.repos.watchers[APP] = [3, 4]
    assert await watchers.ids(APP, asked_at - MAX_CLOCK_SKEW) == [3]
    assert await watchers.ids(APP, asked_at - timedelta(hours=1)) == [3]
    assert questions(world) == 1


async def test_who_began_to_watch_is_not_missed_by_a_worker_whose_clock_is_ahead(world):
    world.repos.watchers[APP] = [3]
    at = now()
    watchers = Watchers(world.components.repos, clock=lambda: at + MAX_CLOCK_SKEW)
    assert await watchers.ids(APP, at) == [3]
    world.repos.watchers[APP] = [3, 4]
    assert await watchers.ids(APP, at + MOMENT) == [3, 4]


async def test_those_who_wait_at_once_share_a_question_that_is_asked_after_their_calls(world, monkeypatch):
    world.repos.watchers[APP] = [3]
    repos = world.components.repos
    answer = repos.watchers

    async def answer_later(repository_id):
        await asyncio.sleep(0)
        return await answer(repository_id)

    monkeypatch.setattr(repos, "watchers", answer_later)
    watchers = Watchers(repos)
    calls = [asyncio.create_task(watchers.ids(APP, now())) for _ in range(6)]
    assert await asyncio.gather(*calls) == [[3]] * 6
    assert questions(world) == 1
    world.repos.watchers[APP] = [3, 4]
    assert await watchers.ids(APP, now()) == [3, 4]
    assert questions(world) == 2


async def test_people_bound_what_is_remembered_not_repositories(world):
    world.repos.watchers |= {APP: [1, 2, 3], FORK: [4]}
    watchers = Watchers(world.components.repos, room=2 * ENTRY_PEOPLE + 3)
    at = now() - timedelta(hours=1)
    for _ in range(2):
        for repository_id, ids in ((APP, [1, 2, 3]), (FORK, [4])):
            assert await watchers.ids(repository_id, at) == ids
    assert questions(world) == 4
    assert await watchers.ids(FORK, at) == [4]
    assert questions(world) == 4


async def test_more_watchers_than_there_is_room_for_are_not_remembered(world):
    world.repos.watchers |= {APP: [1, 2, 3, 4], FORK: [4]}
    watchers = Watchers(world.components.repos, room=ENTRY_PEOPLE + 3)
    at = now() - timedelta(hours=1)
    for repository_id in (FORK, APP, APP, FORK):
        assert await watchers.ids(repository_id, at) == world.repos.watchers[repository_id]
    assert questions(world) == 3
