"""Merging: once, whatever happens between its steps; and the head branch afterwards."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.merges.rules.recording import DELETE_HEAD_BRANCH
from ingot_testing.service import unprepared_statements

from ..builders import APP, FORK, HEAD, JOINED, NEXT, comparison, push, repository
from ..world import World

DYING = """
import asyncio, os, signal, sys

sys.path.insert(0, sys.argv[1])
from tests.world import World


async def main():
    world = World(sys.argv[2])

    async def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    object.__setattr__(world.components.repos, sys.argv[3], die)
    await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})


asyncio.run(main())
"""
"""A process that is killed at the moment when a ref has moved and no row says so."""


async def test_a_head_that_has_moved_is_merged_as_it_is_now(world):
    await world.propose_many("fix")
    world.repos.comparison = comparison(head_sha=NEXT)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    assert [merge.head_sha for merge in world.merges()] == [HEAD, NEXT]
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT
    assert await world.pull_actions() == [("opened", False), ("synchronized", False), ("closed", True)]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_the_statements_of_a_merge_are_prepared(world):
    await world.propose_many("fix", "other")
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    with unprepared_statements(world.db) as statements:
        assert (await world.call("POST", "/pulls/2/merge")).status_code == 200
    assert statements == []


async def test_a_merge_calls_repos_once(world):
    await world.propose_many("fix")
    assert (await world.call("POST", "/pulls/1/merge", {"head_commit_id": HEAD})).status_code == 200
    assert world.comparisons() == []
    [merge] = world.merges()
    assert (merge.head_repository_id, merge.head_branch) == (APP, "fix")


async def test_the_head_of_a_fork_is_merged_from_the_fork(world):
    world.repos.repositories[8] = repository(8, owner=4, parent=repository())
    await world.propose_many("dan:fix")
    await world.call("POST", "/pulls/1/merge")
    [merge] = world.merges()
    assert (merge.head_repository_id, merge.head_branch) == (FORK, "fix")


async def test_a_merge_is_recorded_and_announced_once(world):
    await world.propose()
    unmerged = await world.call("GET", "/pulls/1/merge")
    assert (unmerged.status_code, unmerged.content) == (404, b"")
    merged = await world.call("POST", "/pulls/1/merge", None)
    assert (merged.status_code, merged.content) == (200, b"")
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 204
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", JOINED)
    assert (pull["merged_by"]["login"], pull["merged_at"] is None) == ("ann", False)
    assert (await world.call("GET", f"/commits/{JOINED.upper()}/pull", as_=3)).json()["number"] == 1
    assert [(await world.call("GET", f"/commits/{sha}/pull")).status_code for sha in (HEAD, "x%00")] == [
        404
    ] * 2
    assert await world.pull_actions() == [("opened", False), ("closed", True)]
    assert await world.open_counts() == (0, 0)
    again = await world.call("POST", "/pulls/1/merge")
    assert (again.status_code, again.content) == (405, b"")
    for change in ({"state": "open"}, {"base": "next"}):
        late = await world.call("PATCH", "/pulls/1", change)
        assert (late.status_code, "open a new one" in late.json()["message"]) == (409, True)
    assert len(world.merges()) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"Do": "squash", "MergeTitleField": "One", "MergeMessageField": "two", "head_commit_id": HEAD},
        {"do": "squash", "merge_title_field": "One", "merge_message_field": "two", "HeadCommitId": HEAD},
    ],
)
async def test_style_and_message_are_passed_on(world, body):
    await world.propose()
    assert (await world.call("POST", "/pulls/1/merge", body)).status_code == 200
    [request] = world.merges()
    assert (request.style, request.title, request.message, request.head_sha) == (
        "squash", "One", "two", HEAD,
    )  # fmt: skip
    assert (await world.call("POST", "/pulls/1/merge", {"Do": "magic"})).status_code == 422


async def test_merging_at_once_merges_once(world):
    await world.propose()
    answers = await asyncio.gather(*(world.call("POST", "/pulls/1/merge") for _ in range(4)))
    assert min(answer.status_code for answer in answers) == 200
    assert {answer.status_code for answer in answers} <= {200, 405, 409}
    assert len(world.merges()) == 1
    assert await world.pull_actions() == [("opened", False), ("closed", True)]


@pytest.mark.parametrize(
    ("compared", "failures", "body", "status"),
    [
        (comparison(mergeable=False), {}, {}, 405),
        (comparison(), {"merge": (409, "moved")}, {}, 409),
        (comparison(head_sha=NEXT), {}, {"head_commit_id": HEAD}, 409),
    ],
)
async def test_a_pull_request_that_cannot_be_merged_stays_open(world, compared, failures, body, status):
    await world.propose()
    world.repos.comparison, world.repos.failures = compared, failures
    assert (await world.call("POST", "/pulls/1/merge", body)).status_code == status
    assert (await world.call("GET", "/pulls/1")).json()["state"] == "open"
    world.repos.comparison, world.repos.failures = comparison(), {}
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200


async def test_a_merge_that_is_refused_leaves_no_claim_and_keeps_the_head_branch(world):
    await world.propose()
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", missing_checks=["ci"])
    refused = await world.call("POST", "/pulls/1/merge", {"delete_branch_after_merge": True})
    assert refused.status_code == 405
    assert (await world.call("PATCH", "/pulls/1", {"base": "stable"})).status_code == 201
    await world.deliver(push("refs/heads/stable", after=JOINED, merged_pull=1))
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["merged"] is True
    assert world.deleted_branches() == []


async def test_closed_is_not_merged_and_unknown_is_not_found(world):
    await world.propose()
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 405
    assert (await world.call("POST", "/pulls/9/merge")).status_code == 404
    assert (await world.call("POST", "/pulls/1/merge", as_=3)).status_code == 403


async def test_a_merge_whose_answer_is_lost_is_recorded_by_its_push(world):
    await world.propose()
    world.repos.failures["merge"] = 503, "not now"
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 503
    for _ in range(2):
        await world.deliver(push(after=JOINED, merged_pull=1))
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["merged"], pull["merge_commit_sha"], pull["merged_by"]["login"]) == (True, JOINED, "bob")
    assert await world.pull_actions() == [("opened", False), ("closed", True)]
    assert len(world.merges()) == 1


async def test_a_merge_whose_answer_is_lost_may_be_tried_again(world):
    await world.propose()
    world.repos.failures["merge"] = 503, "not now"
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 503
    world.repos.failures.clear()
    world.repos.merged_pulls[7, 1] = JOINED
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.deliver(push(after=JOINED, merged_pull=1))
    assert await world.pull_actions() == [("opened", False), ("closed", True)]


@pytest.mark.parametrize("spelling", ["delete_branch_after_merge", "DeleteBranchAfterMerge"])
async def test_the_head_branch_is_deleted_on_request(world, spelling):
    await world.propose()
    assert (await world.call("POST", "/pulls/1/merge", {spelling: True})).status_code == 200
    assert world.deleted_branches() == [(7, "fix")]
    row = (await world.call("GET", "/issues/1/timeline")).json()[-1]
    assert (row["type"], row["old_ref"]) == ("delete_branch", "fix")


@pytest.mark.parametrize(
    ("fields", "others", "status"),
    [
        ({"head": "main", "base": "stable"}, [], None),
        ({}, [{"base": "stable"}], None),
        ({}, [], 403),
        ({}, [], 409),
        ({}, [], 404),
    ],
)
async def test_a_branch_that_is_needed_stays_after_the_merge(world, fields, others, status):
    await world.propose(**fields)
    for other in others:
        await world.propose(**other)
    if status:
        world.repos.failures["branches"] = status, "refused"
    answer = await world.call("POST", "/pulls/1/merge", {"delete_branch_after_merge": True})
    assert (answer.status_code, world.deleted_branches()) == (200, [])
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 204
    assert "delete_branch" not in (await world.call("GET", "/issues/1/timeline")).text


async def test_without_the_request_the_branch_stays(world):
    await world.propose()
    await world.call("POST", "/pulls/1/merge")
    assert world.deleted_branches() == []


async def test_nothing_is_merged_into_a_deleted_base_branch(world):
    await world.propose()
    await world.deliver(push(after=NO_COMMIT))
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is False
    world.repos.comparison = None
    world.repos.failures["merge"] = 404, "there is no such branch"
    answer = await world.call("POST", "/pulls/1/merge")
    assert (answer.status_code, answer.content) == (405, b"")


async def test_a_deleted_head_branch_can_still_be_merged(world):
    await world.propose()
    await world.deliver(push("refs/heads/fix", after=NO_COMMIT))
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["mergeable"], shown["head"]["sha"]) == (True, HEAD)
    world.repos.comparison = None
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    assert world.merges()[0].head_sha == HEAD


async def die_at(world: World, call: str) -> None:
    """Merge in a process that is killed when it asks repos for ``call``."""
    url = world.db.url.render_as_string(hide_password=False)
    folder = str(Path(__file__).parents[2])
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, folder, url, call)
    assert await process.wait() == -signal.SIGKILL


async def much_later(world: World) -> None:
    """Let the jobs that wait for their time run now."""
    jobs = world.components.jobs.table
    async with world.db.transaction() as tx:
        await tx.execute(update(jobs).where(jobs.c.kind == DELETE_HEAD_BRANCH).values(run_at=now()))
    await world.workers.step()


@pytest.mark.parametrize("call", ["merge", "delete_branch"])
async def test_a_process_killed_while_it_merges_leaves_no_branch(world, call):
    await world.call("POST", "/issues", {"title": "x"})
    await world.propose()
    await die_at(world, call)
    await world.deliver(push(after=JOINED, merged_pull=2, pusher=User(id=1, login="ann")))
    assert (await world.call("GET", "/pulls/2/merge")).status_code == 204
    await much_later(world)
    assert world.deleted_branches() == [(7, "fix")]
    assert world.repos.calls[-1].query == f"tip={HEAD}&user=1"
    row = (await world.call("GET", "/issues/2/timeline")).json()[-1]
    assert (row["type"], row["old_ref"], row["user"]["login"]) == ("delete_branch", "fix", "ann")
    await much_later(world)
    assert len(world.deleted_branches()) == 1


async def test_no_job_deletes_a_branch_that_the_request_has_deleted(world):
    await world.call("POST", "/issues", {"title": "x"})
    await world.propose()
    await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})
    await much_later(world)
    assert world.deleted_branches() == [(7, "fix")]


async def test_a_branch_that_could_not_be_deleted_for_now_is_deleted_later(world):
    await world.call("POST", "/issues", {"title": "x"})
    await world.propose()
    world.repos.failures["branches"] = 503, "not now"
    answer = await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})
    assert (answer.status_code, world.deleted_branches()) == (200, [])
    world.repos.failures.clear()
    world.repos.calls.clear()
    await much_later(world)
    assert world.deleted_branches() == [(7, "fix")]


async def test_a_later_merge_does_not_delete_the_branch_for_one_that_failed(world):
    await world.propose()
    world.repos.failures["merge"] = 503, "not now"
    await world.call("POST", "/pulls/1/merge", {"delete_branch_after_merge": True})
    world.repos.failures.clear()
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.deliver(push(after=JOINED, merged_pull=1))
    await world.work()
    assert world.deleted_branches() == []


async def test_the_branch_of_a_fork_is_deleted_only_for_its_writers(world):
    for number, as_, level in ((1, 1, "read"), (2, 2, "write")):
        await world.propose(as_=4, head=f"dan:fix{number}")
        world.repos.levels[(8, as_)] = level
        world.repos.branches[8, f"fix{number}"] = HEAD
        answer = await world.call(
            "POST", f"/pulls/{number}/merge", {"delete_branch_after_merge": True}, as_=as_
        )
        assert answer.status_code == 200
    assert world.deleted_branches() == [(8, "fix2")]


async def test_a_process_killed_between_the_ref_and_the_row_merges_once(world):
    await world.call("POST", "/issues", {"title": "x"})
    await world.propose(title="fixes #1")
    await die_at(world, "merge")
    assert (await world.call("GET", "/pulls/2")).json()["merged"] is False
    assert (await world.call("POST", "/pulls/2/merge")).status_code == 409
    for _ in range(2):
        await world.deliver(push(after=JOINED, merged_pull=2))
    pull = (await world.call("GET", "/pulls/2")).json()
    assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", JOINED)
    assert (await world.call("POST", "/pulls/2/merge")).status_code == 405
    await world.work()
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"
    assert await world.pull_actions() == [("opened", False), ("closed", True)]
    assert world.merges() == []


async def test_a_style_that_the_repository_does_not_allow_is_refused_in_words(world):
    await world.propose_many("fix")
    world.repos.repositories[APP] = repository(allow_squash_merge=False, default_merge_style="rebase")
    refused = await world.call("POST", "/pulls/1/merge", {"Do": "squash"})
    assert (refused.status_code, "squash" in refused.headers["x-error-message"]) == (405, True)
    assert (await world.call("POST", "/pulls/1/merge", {"Do": ""})).status_code == 200
    assert [merge.style for merge in world.merges()] == ["rebase"]


@pytest.mark.parametrize(
    ("title", "is_draft"),
    [("WIP: mend", True), ("[wip] mend", True), ("wiping: mend", False), ("mend WIP:", False)],
)
async def test_work_in_progress_is_a_draft_and_not_merged(world, title, is_draft):
    await world.propose(title=title)
    assert (await world.call("GET", "/pulls/1")).json()["draft"] is is_draft
    answer = await world.call("POST", "/pulls/1/merge", {"merge_when_checks_succeed": True})
    assert answer.status_code == (405 if is_draft else 200)
    assert len(world.merges()) == (0 if is_draft else 1)


async def test_the_setting_of_the_repository_decides_about_the_branch_unless_the_caller_does(world):
    world.repos.repositories[APP] = repository(default_delete_branch_after_merge=True)
    for number, fields in ((1, {"delete_branch_after_merge": False}), (2, {})):
        await world.propose(head=f"fix{number}")
        world.repos.branches[APP, f"fix{number}"] = HEAD
        assert (await world.call("POST", f"/pulls/{number}/merge", fields)).status_code == 200
    assert world.deleted_branches() == [(APP, "fix2")]
