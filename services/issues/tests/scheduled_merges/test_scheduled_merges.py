"""Merges that wait for reviews and checks: Bob (2) proposes and schedules, Ann (1) owns."""

import asyncio

import pytest

from ingot_chassis.clock import now
from ingot_chassis.errors import Invalid
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import TeamDeleted
from ingot_contracts.repos.commits import CommitStatus
from ingot_contracts.repos.events import StatusCreated
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.merges.jobs import scheduled as workers
from ingot_issues.merges.rules import recording as merges
from ingot_issues.pulls.store import rows as pulls
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.scheduled_merges import store as scheduled_rows
from ingot_issues.scheduled_merges.rules import scheduling
from ingot_issues.schema import metadata

from ..builders import APP, FORK, HEAD, JOINED, NEXT, THEN, comparison, push, repository

WHEN = {"merge_when_checks_succeed": True}
UNCHECKED = MergeRule(rule_name="main", missing_checks=["ci"])


def succeeded(sha=HEAD, state="success"):
    user = User(id=1, login="ann")
    status = CommitStatus(
        id=1, status=state, url="", context="ci", creator=user, created_at=THEN, updated_at=THEN
    )
    return StatusCreated(repository=repository(), sender=user, sha=sha, status=status)


async def schedule(world, *, rule=UNCHECKED, as_=2, status=201, **fields):
    """A pull request whose merge waits."""
    if not world.repos.calls:
        await world.propose_many("fix")
    world.repos.merge_rules[APP, "main"] = rule
    answer = await world.call("POST", "/pulls/1/merge", WHEN | fields, as_=as_)
    assert answer.status_code == status, answer.text
    await world.work()


async def let_it_pass(world):
    world.repos.merge_rules.clear()


async def is_merged(world):
    return (await world.call("GET", "/pulls/1/merge")).status_code == 204


@pytest.mark.parametrize("spelling", ["merge_when_checks_succeed", "MergeWhenChecksSucceed"])
async def test_what_nothing_refuses_is_merged_at_once(world, spelling):
    await world.propose_many("fix")
    assert (await world.call("POST", "/pulls/1/merge", {spelling: True})).status_code == 200
    assert await is_merged(world)


async def test_a_merge_that_takes_long_follows_in_the_background(world):
    await world.propose_many("fix")
    world.repos.is_costly = True
    assert (await world.call("POST", "/pulls/1/merge", {"do": "squash"})).status_code == 201
    assert not await is_merged(world)
    await world.work()
    assert await is_merged(world)
    assert world.merges()[-1].style == "squash"


async def block_by_rule(world):
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    return scheduling.BLOCKED


async def block_by_title(world):
    assert (await world.call("PATCH", "/pulls/1", {"title": "WIP: fix"})).is_success
    return scheduling.BLOCKED


async def conflict(world):
    world.repos.failures["merge"] = 405, "the branches conflict"
    return scheduling.IMPOSSIBLE


async def exceed_the_job(world):
    world.repos.failures["merge"] = 413, "too much"
    return scheduling.TOO_LONG


async def withdraw_the_right(world):
    world.repos.levels[APP, 2] = "read"
    return scheduling.OTHER_RIGHTS


@pytest.mark.parametrize(
    "block", [block_by_rule, block_by_title, conflict, exceed_the_job, withdraw_the_right]
)
async def test_a_merge_that_takes_long_ends_with_the_reason_where_something_blocks_it_then(world, block):
    await world.propose_many("fix")
    world.repos.is_costly = True
    assert (await world.call("POST", "/pulls/1/merge", as_=2)).status_code == 201
    async with world.db.transaction() as tx:  # as during a comparison that then finds a conflict
        await tx.execute(metadata.tables["pull"].update().values(mergeable=False))
    reason = await block(world)
    await world.work()
    assert not await is_merged(world)
    assert (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 404
    last = (await world.timeline(1))[-1]
    assert (last["type"], last["body"]) == ("pull_cancel_scheduled_merge", reason)
    async with world.db.read() as db:
        assert await scheduled_rows.list_ids(db, 0, 10) == []


async def test_a_merge_that_takes_long_still_waits_where_that_was_asked_for(world):
    await world.propose_many("fix")
    world.repos.is_costly = True
    assert (await world.call("POST", "/pulls/1/merge", WHEN, as_=2)).status_code == 201
    await block_by_rule(world)
    await world.work()
    assert (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 200
    await let_it_pass(world)
    await world.deliver(succeeded())
    await world.work()
    assert await is_merged(world)


async def test_a_merge_that_takes_long_is_refused_where_it_bypasses_a_rule(world):
    """A job bypasses no rule."""
    await world.propose_many("fix")
    world.repos.is_costly = True
    refused = await world.call("POST", "/pulls/1/merge", {"force_merge": True}, as_=1)
    assert (refused.status_code, refused.content) == (405, b"")
    assert "computing time" in refused.headers["X-Error-Message"]
    await world.work()
    assert not await is_merged(world)


async def test_a_check_that_succeeds_lets_the_merge_follow(world):
    await schedule(world, do="squash", merge_title_field="One", delete_branch_after_merge=True)
    assert await world.kinds() == ["pull_scheduled_merge"]
    await world.deliver(succeeded(NEXT))
    await world.deliver(succeeded(state="failure"))
    assert not await is_merged(world)
    await let_it_pass(world)
    await world.deliver(succeeded(state="skipped"))
    await world.work()
    assert await is_merged(world)
    [merge] = world.merges()
    assert (merge.style, merge.title, merge.head_sha) == ("squash", "One", HEAD)
    assert world.deleted_branches() == [(APP, "fix")]
    assert (await world.call("GET", "/pulls/1")).json()["merged_by"]["login"] == "bob"
    assert await world.kinds() == ["pull_scheduled_merge", "merge_pull", "delete_branch"]
    await world.deliver(succeeded())
    await world.work()
    assert len(world.merges()) == 1


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_merge_that_waits_is_shown_until_it_is_done(world):
    await schedule(world, do="squash", head_commit_id=HEAD, delete_branch_after_merge=True)
    shown = (await world.call("GET", "/pulls/1/merge/scheduled", as_=1)).json()
    assert (shown["user"]["login"], shown["do"], shown["head_commit_id"]) == ("bob", "squash", HEAD)
    assert shown["delete_branch_after_merge"] is True
    await let_it_pass(world)
    await world.deliver(succeeded())
    await world.work()
    assert (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 404


async def test_an_approval_lets_the_merge_follow(world):
    rule = MergeRule(rule_name="main", required_approvals=1)
    await schedule(world, rule=rule)
    assert not await is_merged(world)
    await world.call("POST", "/pulls/1/reviews", {"event": "APPROVED"})
    await world.work()
    assert await is_merged(world)


async def test_a_team_that_is_deleted_before_it_has_reviewed_lets_the_merge_follow(world):
    world.repos.organizations.add(1)
    world.identity.add_team(31, 1, name="ops")
    world.repos.teams[APP], world.repos.writing_teams = [31], {31}
    await world.propose_many("fix")
    answer = await world.call("POST", "/pulls/1/requested_reviewers", {"team_reviewers": ["ops"]})
    assert answer.status_code == 201
    await schedule(world, rule=MergeRule(rule_name="main", block_on_official_review_requests=True))
    assert not await is_merged(world)
    await world.deliver(TeamDeleted(organization_id=1, team_id=31))
    await world.work()
    assert await is_merged(world)


async def test_a_closed_dependency_lets_the_merge_follow(world):
    await world.propose_many("fix")
    await world.open_issue()
    assert (await world.call("POST", "/issues/1/dependencies", {"index": 2})).status_code == 201
    await schedule(world, rule=MergeRule())
    assert not await is_merged(world)
    assert (await world.call("PATCH", "/issues/2", {"state": "closed"})).status_code == 201
    await world.work()
    assert await is_merged(world)


async def test_a_scheduled_merge_is_tried_again_after_a_request_that_had_claimed_it(world):
    await schedule(world)
    await let_it_pass(world)
    async with world.db.transaction() as tx:
        pull = await issue_rows.get_pull_by_id(tx, 1)
        assert await merges.claim_merge(tx, pull, "claim", takes_branch=False)
    await world.deliver(succeeded())
    await world.workers.step()
    assert not await is_merged(world)
    async with world.db.transaction() as tx:
        await pulls.release_merge(tx, pull.pull_id, "claim")
        await tx.execute(metadata.tables["job"].update().values(run_at=now()))
    await world.work()
    assert await is_merged(world)


async def test_a_merge_that_repos_refuses_for_its_content_is_cancelled(world, monkeypatch):
    """For example, two harmless changes of a .gitmodules become one that a push may not bring."""

    async def refuse(*_, **__):
        raise Invalid.field("path", "unsafe", ".gitmodules names a path outside")

    await schedule(world)
    await let_it_pass(world)
    await world.deliver(succeeded())
    monkeypatch.setattr(type(world.components.repos), "merge", refuse)
    await world.work()
    assert await is_cancelled(world)


async def test_a_job_that_is_cancelled_while_repos_merges_leaves_no_claim(world, monkeypatch):
    """Its lease is lost, or its process ends. The next one is told that repos has merged."""
    await schedule(world)
    await let_it_pass(world)
    await world.deliver(succeeded())
    merging, repos = asyncio.Event(), world.components.repos

    async def merge_and_wait(*_, **__):
        world.repos.merged_pulls[7, 1] = JOINED
        merging.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(type(repos), "merge", merge_and_wait)
        working = asyncio.create_task(world.workers.step())
        await asyncio.wait_for(merging.wait(), 60)
        working.cancel()
        await asyncio.wait([working])
    async with world.db.transaction() as tx:
        await tx.execute(metadata.tables["job"].update().values(run_at=now()))
    await world.work()
    assert await is_merged(world)
    assert (await world.call("GET", "/pulls/1")).json()["merge_commit_sha"] == JOINED


async def test_a_rule_that_changed_is_noticed_in_time(world):
    await schedule(world)
    await let_it_pass(world)
    await world.work()
    assert not await is_merged(world)
    await world.scheduled_merges.step()
    await world.work()
    assert await is_merged(world)


async def test_more_than_one_round_can_try_are_tried_in_several(world, monkeypatch):
    monkeypatch.setattr(workers, "MOST_AT_ONCE", 1)
    await world.propose_many("fix", "other")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    for index in (1, 2):
        assert (await world.call("POST", f"/pulls/{index}/merge", WHEN, as_=2)).status_code == 201
    await world.work()
    await world.scheduled_merges.step()
    await world.work()
    await let_it_pass(world)
    await world.scheduled_merges.step()
    await world.work()
    assert (await world.call("GET", "/pulls/2/merge")).status_code == 204
    assert not await is_merged(world)
    for _ in range(2):
        await world.scheduled_merges.step()
        await world.work()
    assert await is_merged(world)


async def test_a_merge_is_scheduled_once_and_not_for_what_cannot_be(world):
    await schedule(world)
    await schedule(world, as_=1, status=409)
    await schedule(world, rule=MergeRule(rule_name="main", may_merge=False), status=405)
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    await schedule(world, status=405)
    await world.call("PATCH", "/pulls/1", {"state": "open"})
    assert (await world.call("DELETE", "/pulls/1/merge")).status_code == 404


@pytest.mark.parametrize(("as_", "status"), [(0, 401), (3, 403), (4, 403), (2, 204), (1, 204)])
async def test_a_scheduled_merge_is_cancelled_by_who_scheduled_it_and_by_administrators(world, as_, status):
    world.repos.levels[APP, 4] = "write"
    await schedule(world)
    assert (await world.call("DELETE", "/pulls/1/merge", as_=as_)).status_code == status
    cancelled = status == 204
    assert ("pull_cancel_scheduled_merge" in await world.kinds()) is cancelled
    await let_it_pass(world)
    await world.deliver(succeeded())
    await world.work()
    assert await is_merged(world) is not cancelled


@pytest.mark.parametrize("level", ["read", "none"])
async def test_who_may_not_write_any_more_merges_nothing(world, level):
    await schedule(world)
    world.repos.repositories[APP] = repository(private=True)
    world.repos.levels[APP, 2] = level
    await let_it_pass(world)
    await world.deliver(succeeded())
    await world.work()
    assert not await is_merged(world)
    assert (await world.call("DELETE", "/pulls/1/merge")).status_code == 404


@pytest.mark.parametrize(
    ("pusher", "restricted", "waits"), [(4, False, False), (2, False, True), (2, True, False)]
)
async def test_a_push_of_a_stranger_cancels_what_was_agreed(world, pusher, restricted, waits):
    """So does a push with a deploy key or a restricted token, even for a person with write access."""
    await world.propose_many("dan:fix")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    assert (await world.call("POST", "/pulls/1/merge", WHEN)).status_code == 201
    world.repos.comparison = comparison(head_sha=NEXT)
    login = {2: "bob", 4: "dan"}[pusher]
    fork, who = repository(FORK, owner=4), User(id=pusher, login=login)
    await world.deliver(push("refs/heads/fix", repository=fork, pusher=who, restricted=restricted))
    await world.work()
    assert (await world.call("DELETE", "/pulls/1/merge")).status_code == (204 if waits else 404)


async def test_a_push_of_who_may_not_merge_there_cancels_what_was_agreed(world):
    """Otherwise it would be merged in the name of a person whom the rule names."""
    await world.propose_many("fix")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    assert (await world.call("POST", "/pulls/1/merge", WHEN)).status_code == 201
    world.repos.comparison, world.repos.outsiders = comparison(head_sha=NEXT), {2}
    await world.deliver(push("refs/heads/fix", pusher=User(id=2, login="bob")))
    await world.work()
    assert await is_cancelled(world)


async def test_a_merge_of_one_commit_is_cancelled_when_the_head_moves(world):
    await schedule(world, head_commit_id=HEAD)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    assert (await world.call("DELETE", "/pulls/1/merge")).status_code == 404
    assert world.merges() == []


async def test_of_two_that_wake_together_the_second_waits_until_it_is_up_to_date(world):
    """A rule wants heads that have all of their base, and the first merge moves that."""
    rule = MergeRule(rule_name="main", missing_checks=["ci"], block_on_outdated_branch=True)
    await schedule(world, rule=rule)
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", block_on_outdated_branch=True)
    # Another merge has moved the base; its event has not arrived yet.
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.deliver(succeeded())
    await world.work()
    assert not await is_merged(world)
    assert (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 200
    world.repos.comparison = comparison()
    await world.deliver(succeeded())
    await world.work()
    assert await is_merged(world)


async def retarget(world, base, *, as_):
    answer = await world.call("PATCH", "/pulls/1", {"base": base}, as_=as_)
    assert answer.status_code == 201, answer.text


async def is_cancelled(world):
    """Return whether nothing is merged, although nothing blocks it any more."""
    await let_it_pass(world)
    await world.scheduled_merges.step()
    await world.work()
    assert not await is_merged(world)
    return (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 404


async def test_a_change_of_the_base_cancels_what_was_agreed(world):
    await world.propose_many("fix")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    assert (await world.call("POST", "/pulls/1/merge", WHEN)).status_code == 201
    await retarget(world, "production", as_=2)
    assert "pull_cancel_scheduled_merge" in await world.kinds()
    assert await is_cancelled(world)


async def test_a_push_of_a_stranger_is_not_covered_by_changes_of_the_base(world):
    await world.propose_many("dan:fix")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    assert (await world.call("POST", "/pulls/1/merge", WHEN)).status_code == 201
    world.repos.comparison = comparison(head_sha=NEXT)
    fork = repository(FORK, owner=4)
    await world.deliver(push("refs/heads/fix", repository=fork, pusher=User(id=4, login="dan")))
    for base in ("other", "main"):
        await retarget(world, base, as_=4)
    await world.work()
    assert await is_cancelled(world)


async def test_a_push_that_waits_during_a_change_of_the_base_is_compared_with_the_new_one(world):
    await world.propose_many("fix")
    await world.deliver(push("refs/heads/fix"))
    await retarget(world, "other", as_=2)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT


@pytest.mark.parametrize(("pusher", "merged"), [(4, False), (2, True)])
async def test_a_head_that_is_found_before_its_push_is_heard_of_waits_for_that(world, pusher, merged):
    """A push to the base is compared first, and finds that the head moved.

    Its pusher did not move the head.
    """
    await world.propose_many("dan:fix")
    world.repos.merge_rules[APP, "main"] = UNCHECKED
    assert (await world.call("POST", "/pulls/1/merge", WHEN)).status_code == 201
    world.repos.comparison = comparison(head_sha=NEXT, base_sha=JOINED)
    await world.deliver(push("refs/heads/main", after=JOINED))
    await world.work()
    assert not await is_cancelled(world)
    login, fork = {2: "bob", 4: "dan"}[pusher], repository(FORK, owner=4)
    await world.deliver(push("refs/heads/fix", repository=fork, pusher=User(id=pusher, login=login)))
    await world.work()
    assert await is_merged(world) is merged
    assert merged or await is_cancelled(world)


async def test_who_is_on_no_list_any_more_merges_nothing(world):
    await schedule(world)
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", may_merge=False)
    await world.deliver(succeeded())
    await world.work()
    assert not await is_merged(world)
    assert await is_cancelled(world)
