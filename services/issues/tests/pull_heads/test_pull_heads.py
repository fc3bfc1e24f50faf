"""Visibility of a pull request's commits.

repos is told whenever one is closed without a merge, reopened or deleted.
"""

import asyncio

import msgspec
import pytest
from sqlalchemy import text

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.jobs.workers import Workers
from ingot_contracts.repos.comparisons import PullHead
from ingot_issues.app import job_handlers
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.migrations import SCRIPTS
from ingot_issues.pull_heads import jobs as pull_heads
from ingot_issues.pull_heads import store
from ingot_issues.pull_heads.rules import SetPullHead
from ingot_issues.records.rules.presenter import Presenter
from ingot_testing.service import analyze, rows_touched

from ..builders import AFTER_0030, APP, HEAD, JOINED, NEXT, comparison, fill, repository
from ..world import World


def states(world):
    """Return the states that repos was told, in order."""
    return [head.state for head in world.repos.bodies("pull-heads", PullHead)]


async def set_state(world, state):
    answer = await world.call("PATCH", "/pulls/1", {"state": state})
    assert answer.status_code == 201, answer.text


async def test_a_head_is_hidden_while_its_pull_request_is_closed(world):
    await world.propose()
    await world.work()
    assert states(world) == []
    for state, expected in (("closed", "hidden"), ("open", "visible"), ("closed", "hidden")):
        await set_state(world, state)
        await world.work()
        assert world.repos.pull_heads == {(APP, 1): expected}
    await world.call("PATCH", "/issues/1", {"state": "open"})
    await world.work()
    assert world.repos.pull_heads == {(APP, 1): "visible"}
    assert (await world.call("DELETE", "/issues/1")).status_code == 204
    await world.work()
    assert world.repos.pull_heads == {(APP, 1): "gone"}


async def test_an_issue_has_no_head(world):
    await world.open_issue()
    await world.call("PATCH", "/issues/1", {"state": "closed"})
    await world.call("DELETE", "/issues/1")
    await world.work()
    assert states(world) == []


async def test_what_is_merged_stays_visible(world):
    await world.propose()
    await world.work()
    assert (await world.call("POST", "/pulls/1/merge", {"Do": "merge"})).status_code == 200
    await world.work()
    assert states(world) == []


async def test_a_reopened_pull_request_is_compared_again(world):
    """No comparison ran while it was closed."""
    await world.propose()
    await world.work()
    await set_state(world, "closed")
    await world.work()
    world.repos.comparison = comparison(base_sha=NEXT, mergeable=False)
    await set_state(world, "open")
    await world.work()
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["base"]["sha"], pull["mergeable"]) == (NEXT, False)


NOTHING_LEFT = comparison(base_sha=NEXT, commits=0, mergeable=False)


@pytest.mark.parametrize(
    ("now", "detects", "merged"),
    [
        (NOTHING_LEFT, True, True),
        (NOTHING_LEFT, False, False),
        (comparison(base_sha=NEXT, head_sha=JOINED, commits=0, mergeable=False), True, False),
    ],
    ids=["merged", "not detected", "branch used for something else"],
)
async def test_a_reopened_pull_request_without_commits_of_its_own_was_merged(world, now, detects, merged):
    """Pushes to its base were ignored while it was closed."""
    world.repos.repositories[APP] = repository(autodetect_manual_merge=detects)
    await world.open_issue()
    await world.propose()
    await world.work()
    assert (await world.call("PATCH", "/pulls/2", {"state": "closed"})).status_code == 201
    await world.work()
    edited = {"state": "open", "body": "closes #1"}
    world.repos.comparison = now
    assert (await world.call("PATCH", "/pulls/2", edited)).status_code == 201
    await world.work()
    pull = (await world.call("GET", "/pulls/2")).json()
    assert (pull["merged"], pull["merge_commit_sha"]) == (merged, HEAD if merged else None)
    assert (pull["state"], pull["base"]["sha"]) == ("closed" if merged else "open", HEAD if merged else NEXT)
    assert merged or not pull["mergeable"]
    assert pull["merged_by"] is None
    rows = await world.timeline(2)
    assert [row["user"]["login"] for row in rows if row["type"] == "merge_pull"] == ["Ghost"] * merged
    assert await world.issue_states(1) == ["open"]
    assert world.repos.pull_heads == {(APP, 2): "visible"}


async def work_with(repos_type, world):
    """Do all jobs that are due, with repos as it is for that type."""
    repos, jobs = repos_type(world.app.state.parts.peers["repos"]), world.components.jobs
    repos.world = world
    handlers = job_handlers(world.db, jobs, repos, Presenter("http://forge"), world.components.identity, None)
    await Workers("issues", jobs, handlers).step()


class ReopeningRepos(HttpRepos):
    """Repos during whose first response the pull request is reopened."""

    world: World

    async def set_pull_head(self, repository_id, number, head):
        await super().set_pull_head(repository_id, number, head)
        if head.state == "hidden":
            await set_state(self.world, "open")


async def test_a_change_while_repos_is_told_is_told_as_well(world):
    await world.propose()
    await world.work()
    await set_state(world, "closed")
    await work_with(ReopeningRepos, world)
    assert states(world) == ["hidden", "visible"]


class ClosingRepos(HttpRepos):
    """Repos during whose comparison the pull request is closed, and another worker tells repos."""

    world: World

    async def compare_heads(self, repository_id, request):
        await set_state(self.world, "closed")
        async with self.world.db.transaction() as tx:
            await tx.execute(text("DELETE FROM job WHERE kind = 'pulls.head'"))  # it is done
        return await super().compare_heads(repository_id, request)


async def test_what_was_closed_while_it_was_compared_is_hidden_once_more(world):
    await world.propose()
    await work_with(ClosingRepos, world)
    assert states(world) == ["hidden"]


async def test_a_change_does_not_wait_behind_an_earlier_job_that_is_due_later(world):
    await world.propose()
    await world.work()
    await set_state(world, "closed")
    async with world.db.transaction() as tx:
        await tx.execute(text("UPDATE job SET run_at = '2999-01-01 00:00:00' WHERE kind = 'pulls.head'"))
    await set_state(world, "open")
    await world.work()
    assert states(world) == ["visible"]


async def test_repos_of_a_former_release_is_told_later(world):
    await world.propose()
    await world.work()
    await set_state(world, "closed")
    world.repos.failures["pull-heads"] = (404, "Not found.")
    await world.work()
    async with world.db.transaction() as tx:
        waiting = text("UPDATE job SET run_at = created_at WHERE kind = 'pulls.head' AND state = 'waiting'")
        assert (await tx.execute(waiting)).rowcount == 1
    world.repos.failures.clear()
    await world.work()
    assert world.repos.pull_heads == {(APP, 1): "hidden"}


async def test_repos_without_the_repository_is_told_once(world):
    await world.propose()
    await world.work()
    await set_state(world, "closed")
    del world.repos.repositories[APP]
    await world.work()
    await world.pull_heads.step()
    await world.work()
    assert states(world) == ["hidden"]
    async with world.db.read() as db:
        ended = await db.execute(text("SELECT state FROM job WHERE kind = 'pulls.head'"))
        assert ended.scalars().all() == ["done"]


async def set_state_as_a_former_release(world, number, state):
    assert (await world.call("PATCH", f"/pulls/{number}", {"state": state})).status_code == 201
    async with world.db.transaction() as tx:
        await tx.execute(text("DELETE FROM job WHERE kind = 'pulls.head'"))


async def test_what_a_former_release_closes_and_reopens_during_an_update_is_hidden_and_shown(world):
    await world.propose_many("fix", "two")
    assert (await world.call("POST", "/pulls/2/merge", {"Do": "merge"})).status_code == 200
    for state, expected in (("closed", "hidden"), ("open", "visible")):
        await set_state_as_a_former_release(world, 1, state)
        await world.work()
        assert world.repos.pull_heads.get((APP, 1)) != expected
        for _ in range(2):
            await world.pull_heads.step()
            await world.work()
        assert states(world)[-1] == expected
    assert world.repos.pull_heads == {(APP, 1): "visible"}
    assert states(world) == ["hidden", "visible"]


async def test_a_round_looks_at_as_many_as_it_may_and_the_next_one_goes_on(world, monkeypatch):
    monkeypatch.setattr(pull_heads, "MOST_AT_ONCE", 1)
    await world.propose_many("fix", "two")
    for number in (1, 2):
        await set_state_as_a_former_release(world, number, "closed")
    for expected in ({(APP, 2)}, {(APP, 1), (APP, 2)}):
        await world.pull_heads.step()
        await world.work()
        assert world.repos.pull_heads.keys() == expected
    await set_state_as_a_former_release(world, 1, "open")
    for _ in range(3):
        await world.pull_heads.step()
        await world.work()
    assert world.repos.pull_heads == {(APP, 1): "visible", (APP, 2): "hidden"}


@pytest.mark.both_databases
async def test_a_round_looks_at_no_more_rows_among_many(world):
    await world.create_label()
    await world.create_milestone()
    costs = []
    for first, count in ((1, 400), (401, 4000)):
        await fill(world.db, first, count)
        await analyze(world.db)
        costs.append(await rows_touched(world.db, lambda tx: store.list_page(tx, 300, 10)))
    assert costs[1] <= 2 * costs[0]


async def test_a_late_job_does_not_wait_behind_all_others(world):
    await world.propose_many("fix", "two")
    for number in (1, 2):
        await set_state_as_a_former_release(world, number, "closed")
    await world.pull_heads.step()
    async with world.db.read() as db:
        moments = (await db.execute(text("SELECT DISTINCT run_at FROM job WHERE kind = 'pulls.head'"))).all()
    assert len(moments) == 2


async def test_what_a_former_release_has_closed_is_hidden(world):
    for head, state in (("fix", "closed"), ("two", "merged"), ("three", "open")):
        pull = await world.propose(head=head)
        if state == "closed":
            await world.call("PATCH", f"/pulls/{pull['number']}", {"state": state})
        elif state == "merged":
            await world.call("POST", f"/pulls/{pull['number']}/merge", {"Do": "merge"})
    async with world.db.transaction() as tx:
        await tx.execute(text("DELETE FROM job"))
        for statement in AFTER_0030:
            await tx.execute(text(statement))
        for column in ("head_hidden", "head_tip"):
            await tx.execute(text(f"ALTER TABLE pull DROP COLUMN {column}"))
        await tx.execute(text("DROP TABLE file_view"))
        await tx.execute(text("UPDATE alembic_version SET version_num = '0025'"))
    url = world.db.url.render_as_string(hide_password=False)
    await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))
    await world.work()
    assert world.repos.pull_heads == {(APP, 1): "hidden"}
    async with world.db.read() as db:
        payload = (await db.execute(text("SELECT payload FROM job WHERE kind = 'pulls.head'"))).scalar_one()
    assert msgspec.json.decode(payload, type=SetPullHead).number == 1
