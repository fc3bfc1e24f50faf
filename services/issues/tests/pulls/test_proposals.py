"""Pushes to ``refs/for/``: pull requests that they open and update."""

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import CommitsProposed

from ..builders import APP, HEAD, NEXT, comparison, repository

TOPIC = "typo:17"


def proposal(**fields):
    values = {"message": "Fix a typo\n\nIt was wrong.\n", "after": HEAD, "base_branch": "main", "head": TOPIC}
    return CommitsProposed(repository=repository(), pusher=User(id=3, login="cat"), **values | fields)


@pytest.fixture
async def proposed(world):
    world.repos.branches |= {(APP, TOPIC): HEAD}
    await world.deliver(proposal())
    await world.work()


async def test_a_push_opens_a_pull_request_of_somebody_who_may_only_read(world, proposed):
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["user"]["login"], pull["title"], pull["body"]) == ("cat", "Fix a typo", "It was wrong.")
    assert (pull["base"]["ref"], pull["head"]["ref"], pull["head"]["label"]) == (
        "main",
        "refs/pull/1/head",
        "typo",
    )
    assert world.comparisons()[-1].number == 1
    assert world.comparisons()[-1].head_branch == TOPIC
    assert await world.pull_actions() == [("opened", False)]


async def test_the_next_push_updates_it_and_may_give_it_another_title(world, proposed):
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(proposal(after=NEXT))
    await world.work()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["head"]["sha"], pull["title"]) == (NEXT, "Fix a typo")
    await world.open_issue("mentioned in no text")
    await world.deliver(proposal(after=NEXT, title="Better", message="Fix again\n\nAs #2 says.\n"))
    await world.work()
    assert await world.kinds(2) == []
    pulls = (await world.call("GET", "/pulls")).json()
    assert [(one["title"], one["body"]) for one in pulls] == [("Better", "It was wrong.")]
    assert [action for action, _ in await world.pull_actions()] == ["opened", "synchronized", "edited"]


async def test_after_it_is_closed_a_push_opens_another_one(world, proposed):
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    await world.deliver(proposal(after=NEXT, title="Again", body="And why"))
    await world.work()
    pull = (await world.call("GET", "/pulls/2")).json()
    assert (pull["title"], pull["body"]) == ("Again", "And why")


async def test_what_repos_has_no_more_opens_nothing(world):
    await world.deliver(proposal())
    world.repos.branches |= {(APP, TOPIC): HEAD}
    world.repos.comparison = comparison(commits=0)
    await world.deliver(proposal(after=NEXT))
    await world.work()
    assert (await world.call("GET", "/pulls")).json() == []
