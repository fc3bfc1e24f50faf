"""Merges that were made by git: recorded if the repository allows it, and if they are true."""

import asyncio
from typing import Any

import pytest

from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.pulls.rules import mergeability
from ingot_issues.repositories.store import counters
from ingot_testing.service import wait_until_blocked

from ..builders import APP, JOINED, NEXT, history_commit, push, repository
from ..world import World


async def merge_manually(world: World, **fields: Any) -> Any:
    """The base branch is at ``NEXT`` by then, and the head branch is deleted."""
    world.repos.branches.setdefault((APP, "main"), NEXT)
    world.repos.comparison = None
    return await world.call("POST", "/pulls/1/merge", {"Do": "manually-merged"} | fields)


async def test_a_merge_that_somebody_pushed_is_recorded(world):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    await world.propose()
    answer = await merge_manually(world, MergeCommitID=JOINED.upper())
    assert (answer.status_code, answer.content) == (200, b"")
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", JOINED)
    assert (world.merges(), world.histories()) == ([], [(NEXT, JOINED)])
    assert await world.pull_actions() == [("opened", False), ("closed", True)]
    assert (await merge_manually(world, merge_commit_id=JOINED)).status_code == 405


@pytest.mark.parametrize(
    ("fields", "status"),
    [({}, 422), ({"merge_commit_id": "main"}, 422), ({"merge_commit_id": JOINED}, 422)],
)
async def test_only_a_commit_of_the_base_branch_is_a_merge(world, fields, status):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    world.repos.commits = [history_commit(JOINED)]
    await world.propose()
    refused = await merge_manually(world, **fields)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (status, "merge_commit_id")
    assert (await world.call("GET", "/pulls/1")).json()["merged"] is False


async def test_nothing_is_recorded_as_merged_into_a_deleted_branch(world):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    await world.propose()
    world.repos.failures["branches"] = 404, "there is no such branch"
    assert (await merge_manually(world, merge_commit_id=JOINED)).status_code == 422


async def test_a_merge_is_not_recorded_while_open_issues_block_it(world):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    await world.propose()
    await world.open_issue()
    await world.call("POST", "/issues/1/dependencies", {"index": 2})
    body = {"merge_commit_id": JOINED, "merge_when_checks_succeed": True}
    assert (await merge_manually(world, **body)).status_code == 405
    await world.call("PATCH", "/issues/2", {"state": "closed"})
    assert (await merge_manually(world, **body)).status_code == 200


async def test_merges_are_recorded_only_where_the_repository_allows_it(world):
    await world.propose()
    refused = await merge_manually(world, merge_commit_id=JOINED)
    assert (refused.status_code, "manually-merged" in refused.headers["x-error-message"]) == (405, True)


async def test_merges_are_recorded_only_for_those_who_may_merge_into_the_branch(world):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", may_merge=False, required_approvals=1)
    await world.open_issue()
    await world.propose(body="closes #1")
    body = {"Do": "manually-merged", "merge_commit_id": JOINED}
    world.repos.branches[APP, "main"] = NEXT
    refused = await world.call("POST", "/pulls/2/merge", body, as_=2)
    assert (refused.status_code, "not among those who may merge" in refused.headers["x-error-message"]) == (
        405,
        True,
    )
    assert (await world.call("POST", "/pulls/2/merge", body | {"force_merge": True})).status_code == 405
    assert await world.issue_states(1, 2) == ["open", "open"]
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", required_approvals=1)
    assert (await world.call("POST", "/pulls/2/merge", body, as_=2)).status_code == 200
    assert await world.issue_states(1, 2) == ["closed", "closed"]


async def test_who_may_override_the_rule_records_a_merge(world):
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    rule = MergeRule(rule_name="main", may_merge=False, may_override=True)
    world.repos.merge_rules[APP, "main"] = rule
    await world.propose()
    assert (await merge_manually(world, merge_commit_id=JOINED)).status_code == 405
    assert (await merge_manually(world, merge_commit_id=JOINED, force_merge=True)).status_code == 200


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_merge_waits_for_other_writers_before_it_takes_the_pull_request(world):
    """The push arrives in parallel: its consumer holds the counter, and writes to the pull request."""
    world.repos.repositories[APP] = repository(allow_manual_merge=True)
    await world.propose()
    async with world.db.transaction() as tx:
        await counters.lock(tx, APP)
        merge = asyncio.create_task(merge_manually(world, merge_commit_id=JOINED))
        await wait_until_blocked(tx, merge)
        await mergeability.invalidate(tx, world.components.jobs, push(after=NEXT))
    assert (await merge).status_code == 200
