"""Failed checks of pull requests: Bob (2) proposes, Ann (1) owns. Only mail hears of them."""

import pytest
from sqlalchemy import update

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import ChecksFailed, PeopleNotified
from ingot_contracts.repos.commits import CommitStatus
from ingot_contracts.repos.events import StatusCreated
from ingot_issues.records.store.tables import issue as issue_table
from ingot_testing.service import emitted_events

from ..builders import HEAD, NEXT, THEN, push, repository


async def check(world, state="failure", sha=HEAD):
    """Add a check to a commit."""
    user = User(id=1, login="ann")
    status = CommitStatus(
        id=1, status=state, url="", context="ci", creator=user, created_at=THEN, updated_at=THEN
    )
    await world.deliver(StatusCreated(repository=repository(), sender=user, sha=sha, status=status))


async def notices_of_checks(world):
    """The authors that are announced, and the commits."""
    return [(one.author_id, one.sha) for one in await emitted_events(world.db, ChecksFailed)]


@pytest.mark.parametrize("state", ["failure", "error"])
async def test_the_author_of_a_pull_request_hears_of_a_failed_check(world, state):
    await world.propose_many("fix")
    await world.work()
    before = await emitted_events(world.db, PeopleNotified)
    await check(world, state)
    # An older mail would write about a change of the issue.
    assert await emitted_events(world.db, PeopleNotified) == before
    assert await notices_of_checks(world) == [(2, HEAD)]


@pytest.mark.parametrize("state", ["pending", "success", "warning", "skipped"])
async def test_other_states_are_no_failure(world, state):
    await world.propose_many("fix")
    await check(world, state)
    assert await notices_of_checks(world) == []


async def test_a_check_of_another_commit_or_of_a_closed_pull_request_is_not_announced(world):
    await world.propose_many("fix")
    await check(world, sha=NEXT)
    await world.call("PATCH", "/pulls/1", {"state": "closed"}, as_=2)
    await check(world)
    assert await notices_of_checks(world) == []


async def test_a_check_that_fails_before_the_comparison_is_announced(world):
    await world.propose_many("fix")
    await world.deliver(push("refs/heads/fix", after=NEXT))
    await check(world)
    assert await notices_of_checks(world) == []
    await check(world, sha=NEXT)
    assert await notices_of_checks(world) == [(2, NEXT)]


async def test_an_author_without_an_account_here_is_not_announced(world):
    await world.propose_many("fix")
    async with world.db.transaction() as tx:
        await tx.execute(update(issue_table).values(author_id=-1))
    await check(world)
    assert await notices_of_checks(world) == []


async def test_an_author_who_unsubscribed_hears_nothing(world):
    await world.propose_many("fix")
    answer = await world.call("DELETE", "/issues/1/subscriptions/bob", as_=2)
    assert answer.status_code < 300, answer.text
    await check(world)
    assert await notices_of_checks(world) == []
