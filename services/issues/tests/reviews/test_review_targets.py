"""A review is of the changes that were shown for one base branch.

Bob (2) proposes, Ann (1), Cat (3) and Dan (4) review.
"""

import asyncio

import pytest
from sqlalchemy import text

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.errors import Conflict
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.merges.rules import recording as merges
from ingot_issues.migrations import SCRIPTS
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.scheduled_merges.store import scheduled_merge as scheduled_merge_table

from ..builders import AFTER_0030, APP, BASE, HEAD, JOINED, NEXT, THEN, comparison, push

REVIEWS = "/pulls/1/reviews"
DISMISS, IGNORE = {"dismiss_stale_approvals": True}, {"ignore_stale_approvals": True}


def protect(world, branch="main", **fields):
    world.repos.merge_rules[APP, branch] = MergeRule(rule_name=branch, **{"required_approvals": 1} | fields)


async def review(world, *, as_=1, **fields):
    answer = await world.call("POST", REVIEWS, {"event": "APPROVED"} | fields, as_=as_)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def retarget(world, base, *, as_=2):
    answer = await world.call("PATCH", "/pulls/1", {"base": base}, as_=as_)
    assert answer.status_code == 201, answer.text


async def shown(world):
    return [(one["stale"], one["official"]) for one in (await world.call("GET", REVIEWS)).json()]


async def merge(world, **fields):
    answer = await world.call("POST", "/pulls/1/merge", fields)
    return answer.status_code, answer.json()["message"] if answer.content else answer.headers.get(
        "x-error-message", ""
    )


LACKING = (405, "the rule 'main' protects the branch: it has 0 of 1 approvals")


async def test_an_approval_does_not_outlive_a_push_made_while_the_base_was_another(world):
    protect(world, **DISMISS)
    await world.propose_many("fix")
    await review(world)
    await retarget(world, "free")
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    await retarget(world, "main")
    assert await merge(world) == LACKING
    await review(world)
    assert (await merge(world))[0] == 200


async def test_commits_that_come_with_a_change_of_the_base_are_announced(world):
    protect(world, "free", **DISMISS)
    await world.propose_many("fix")
    await review(world)
    world.repos.comparison = comparison(head_sha=NEXT)
    await retarget(world, "free")
    assert (await world.actions("pull"))[-2:] == ["synchronized", "edited"]
    kinds = await world.kinds()
    assert kinds[-3:] == ["change_target_branch", "pull_push", "dismiss_review"]


@pytest.mark.parametrize("rule", [DISMISS, IGNORE, DISMISS | IGNORE])
async def test_an_approval_of_the_changes_to_one_base_is_none_of_those_to_another(world, rule):
    """The base evil has a commit that no reviewer sees in the changes to it."""
    protect(world, **rule)
    world.repos.comparison = comparison(base_sha=JOINED, merge_base=JOINED)
    await world.propose(base="evil")
    await review(world)
    world.repos.comparison = comparison()
    await retarget(world, "main")
    assert await shown(world) == [(True, True)]
    assert await merge(world) == LACKING


@pytest.mark.parametrize("rule", [DISMISS, IGNORE])
async def test_a_base_that_is_rewritten_makes_approvals_stale(world, rule):
    """Its event has not come yet: repos refuses to merge changes that were not reviewed."""
    protect(world, **rule)
    world.repos.comparison = comparison(base_sha=JOINED, merge_base=JOINED)
    await world.propose_many("fix")
    await review(world)
    world.repos.comparison = comparison()
    assert await merge(world) == LACKING
    assert await shown(world) == [(True, True)]
    await review(world)
    assert (await merge(world))[0] == 200
    assert [one.merge_base for one in world.merges()] == [JOINED, BASE]


async def test_an_approval_counts_again_when_the_base_is_what_was_reviewed(world):
    protect(world, **DISMISS)
    await world.propose_many("fix")
    await review(world)
    await retarget(world, "free")
    assert await shown(world) == [(True, True)]
    await retarget(world, "main")
    assert await shown(world) == [(False, True)]
    assert (await merge(world))[0] == 200


async def test_whose_decision_counts_is_said_by_the_present_base(world):
    protect(world, approvers=[], approving_teams=[9], block_on_rejected_reviews=True)
    world.repos.team_members[9], world.repos.levels[APP, 4] = [3], "write"
    await world.propose(base="free")
    assert (await review(world, as_=4))["official"] is True
    assert (await review(world, as_=3, event="REQUEST_CHANGES", body="no"))["official"] is False
    await retarget(world, "main")
    assert await shown(world) == [(True, False), (True, True)]
    status, words = await merge(world)
    assert (status, "0 of 1 approvals; changes are requested" in words) == (405, True)


@pytest.mark.parametrize("way", ["level", "team", "account"])
async def test_who_has_lost_their_access_counts_no_more(world, way):
    protect(world, approvers=None if way == "level" else [], approving_teams=[9])
    world.repos.team_members[9], world.repos.levels[APP, 4] = [4], "write"
    await world.propose()
    assert (await review(world, as_=4))["official"] is True
    if way == "level":
        world.repos.levels[APP, 4] = "read"
    elif way == "team":
        world.repos.team_members[9] = []
    else:
        world.repos.inactive.add(4)
    assert await shown(world) == [(False, False)]
    [refusal] = (await world.call("GET", "/pulls/1/merge/refusals")).json()
    assert (405, refusal["reason"]) == LACKING
    assert await merge(world) == LACKING


async def test_who_was_asked_for_a_review_blocks_by_the_present_rule(world):
    protect(world, required_approvals=0, approvers=[3], block_on_official_review_requests=True)
    await world.propose(base="free", reviewers=["cat"])
    assert await shown(world) == [(False, False)]
    await retarget(world, "main")
    assert await shown(world) == [(True, True)]
    assert (await merge(world))[0] == 405


async def test_an_approval_of_an_earlier_commit_is_recorded_as_stale(world):
    protect(world, **DISMISS)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.propose()
    world.repos.totals[BASE, HEAD] = 1  # a commit between base and head
    assert (await review(world, commit_id=HEAD))["stale"] is True
    assert await merge(world) == LACKING
    assert (await review(world, commit_id=NEXT))["stale"] is False
    assert (await merge(world))[0] == 200


@pytest.mark.parametrize("fields", [{"merge_base": JOINED}, {"base_branch": "free", "merge_base": BASE}])
async def test_a_review_of_changes_to_another_base_is_recorded_as_stale(world, fields):
    protect(world, **IGNORE)
    await world.propose()
    assert (await review(world, **fields))["stale"] is True
    assert await merge(world) == LACKING


@pytest.mark.parametrize("fields", [{"commit_id": NEXT, "base_branch": "main"}, {"base_branch": "free"}])
async def test_other_changes_are_reviewed_with_their_merge_base_only(world, fields):
    """The present merge base is that of the present head and base branch."""
    await world.propose()
    refused = await world.call("POST", REVIEWS, {"event": "APPROVED"} | fields)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "merge_base")
    world.repos.totals[BASE, NEXT] = 1
    assert (await review(world, merge_base=BASE, **fields))["stale"] is True
    assert (await review(world, commit_id=HEAD, base_branch="main"))["stale"] is False


async def test_a_review_that_names_a_commit_but_no_base_is_of_none_of_several(world):
    """The author shows harmless changes to evil, and has the same commit approved for main."""
    protect(world, **IGNORE)
    world.repos.comparison = comparison(base_sha=JOINED, merge_base=JOINED)
    await world.propose(head="fix", base="evil")
    await world.work()
    world.repos.comparison = comparison()
    await retarget(world, "main")
    for sha in (NEXT, HEAD):  # the head that was shown comes again
        world.repos.comparison = comparison(head_sha=sha)
        await world.deliver(push("refs/heads/fix", sha))
        await world.work()
    assert (await review(world, commit_id=HEAD))["stale"] is True
    assert await merge(world) == LACKING
    assert (await review(world, commit_id=HEAD, base_branch="main"))["stale"] is False
    assert (await merge(world))[0] == 200


@pytest.mark.parametrize("fields", [{}, {"merge_base": BASE}])
async def test_a_review_of_the_present_changes_counts_after_a_change_of_the_base(world, fields):
    await world.propose(base="evil")
    await retarget(world, "main")
    assert (await review(world, **fields))["stale"] is False


async def test_a_comment_on_a_line_whose_base_is_not_named_keeps_its_hunk(world):
    await world.propose(base="evil")
    await retarget(world, "main")
    line = {"path": "a", "body": "why?", "new_position": 1}
    shown = await review(world, event="COMMENT", commit_id=HEAD, comments=[line])
    assert (shown["stale"], shown["comments_count"]) == (True, 1)
    assert f"base={BASE}" in next(call.query for call in world.repos.calls if call.path.endswith("/diff"))


async def refused_commit(world, sha):
    answer = await world.call("POST", REVIEWS, {"event": "APPROVED", "commit_id": sha})
    assert (await world.call("GET", REVIEWS)).json() == []
    return answer.status_code, [(one["field"], one["code"]) for one in answer.json()["errors"]]


@pytest.mark.parametrize("state", ["open", "closed", "merged"])
async def test_a_review_is_of_a_commit_of_the_pull_request(world, state):
    """It is none of the base, of a branch that goes on from the head, or missing."""
    await world.propose()
    if state == "merged":
        assert (await merge(world))[0] == 200
    else:
        await world.call("PATCH", "/pulls/1", {"state": state})
    world.repos.totals[HEAD, NEXT] = 2
    for sha in (BASE, NEXT, "0" * 40, "1" * 64):
        assert await refused_commit(world, sha) == (422, [("commit_id", "unknown")]), sha


@pytest.mark.parametrize("sha", [HEAD, NEXT, JOINED])
async def test_a_review_of_a_former_head_is_accepted(world, sha):
    await world.propose_many("fix")
    for head in (NEXT, JOINED):
        world.repos.comparison = comparison(head_sha=head)
        await world.deliver(push("refs/heads/fix", head))
        await world.work()
    world.repos.failures["commits"] = (404, "replaced by a forced push")
    assert (await review(world, commit_id=sha.upper()))["commit_id"] == sha


async def test_a_former_head_of_another_pull_request_is_none_of_this_one(world):
    await world.propose_many("fix", "topic")
    world.repos.comparisons[APP, "topic"] = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/topic"))
    await world.work()
    assert await refused_commit(world, NEXT) == (422, [("commit_id", "unknown")])


async def test_a_stale_decision_answers_no_request(world):
    await world.propose_many("fix")
    body = {"reviewers": ["cat", "dan"]}
    assert (await world.call("POST", "/pulls/1/requested_reviewers", body)).status_code == 201
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    for event, commit, left in (
        ("APPROVED", HEAD, ["cat", "dan"]),
        ("REQUEST_CHANGES", HEAD, ["cat", "dan"]),
        ("APPROVED", NEXT, ["dan"]),
    ):
        await review(world, as_=3, event=event, body="x", commit_id=commit)
        pull = (await world.call("GET", "/pulls/1")).json()
        assert [person["login"] for person in pull["requested_reviewers"]] == left, event


async def test_a_pending_decision_that_became_stale_answers_no_request(world):
    await world.propose_many("fix")
    await world.call("POST", "/pulls/1/requested_reviewers", {"reviewers": ["cat"]})
    pending = await review(world, as_=3, event="PENDING")
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    submitted = await world.call("POST", f"{REVIEWS}/{pending['id']}", {"event": "APPROVED"}, as_=3)
    assert submitted.json()["stale"] is True
    pull = (await world.call("GET", "/pulls/1")).json()
    assert [person["login"] for person in pull["requested_reviewers"]] == ["cat"]


async def test_a_stale_approval_does_not_count_again_by_being_restored(world):
    protect(world, **DISMISS)
    await world.propose_many("fix")
    approved = await review(world)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    restored = await world.call("POST", f"{REVIEWS}/{approved['id']}/undismissals")
    assert (restored.json()["dismissed"], restored.json()["stale"]) == (False, True)
    assert await merge(world) == LACKING


async def test_a_push_while_it_is_closed_makes_approvals_stale(world):
    protect(world, **DISMISS)
    await world.propose_many("fix")
    await review(world)
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.call("PATCH", "/pulls/1", {"state": "open"})
    await world.work()
    assert await merge(world) == LACKING


async def test_an_approval_of_the_head_that_comes_before_its_push_is_heard_of_stays(world):
    protect(world, **DISMISS)
    await world.propose_many("fix")
    world.repos.comparison = comparison(head_sha=NEXT)
    assert (await review(world, commit_id=NEXT))["stale"] is True
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    assert (await merge(world))[0] == 200


async def test_what_was_judged_is_what_is_merged(world):
    await world.propose_many("fix")
    async with world.db.read() as db:
        judged = await issue_rows.get_pull_by_id(db, 1)
    await retarget(world, "free")
    async with world.db.transaction() as tx:
        assert not await merges.claim_merge(tx, judged, "claim", takes_branch=False)
        with pytest.raises(Conflict, match="has changed"):
            await merges.refuse_claim(tx, judged)
    assert (await merge(world, base_branch="main"))[0] == 409
    assert world.merges() == []
    assert (await merge(world, base_branch="free"))[0] == 200


async def test_a_decision_that_comes_before_the_claim_counts(world):
    protect(world, required_approvals=0, block_on_rejected_reviews=True)
    await world.propose(as_=4, head="dan:fix")
    access_by_id = world.components.repos.access_by_id

    async def access_after_a_review(*arguments):
        world.components.repos.access_by_id = access_by_id
        await review(world, as_=2, event="REQUEST_CHANGES", body="no")
        return await access_by_id(*arguments)

    world.components.repos.access_by_id = access_after_a_review
    status, words = await merge(world, delete_branch_after_merge=True)
    assert (status, "changes are requested" in words) == (405, True)
    assert world.merges() == []


async def test_of_two_changes_of_the_base_the_later_does_not_undo_the_earlier(world):
    await world.propose_many("fix")
    dismisses = world.components.repos.dismisses_approvals

    async def dismisses_after_another_change(*arguments):
        world.components.repos.dismisses_approvals = dismisses
        await retarget(world, "free", as_=1)
        return await dismisses(*arguments)

    world.components.repos.dismisses_approvals = dismisses_after_another_change
    answer = await world.call("PATCH", "/pulls/1", {"base": "stable"}, as_=2)
    assert (answer.status_code, "has changed" in answer.text) == (409, True)
    assert (await world.call("GET", "/pulls/1")).json()["base"]["ref"] == "free"


async def upgrade_from_0030(world):
    """Let the migrations that follow run on the rows of ``world``."""
    async with world.db.transaction() as tx:
        for statement in AFTER_0030:
            await tx.execute(text(statement))
        await tx.execute(text("UPDATE alembic_version SET version_num = '0030'"))
    url = world.db.url.render_as_string(hide_password=False)
    await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))


async def test_reviews_of_a_former_release_are_of_the_present_base_unless_it_was_changed(world):
    await world.propose_many("fix", "other")
    world.repos.merge_rules[APP, "main"] = MergeRule(rule_name="main", missing_checks=["ci"])
    scheduled = await world.call("POST", "/pulls/1/merge", {"merge_when_checks_succeed": True})
    assert scheduled.status_code == 201
    for number in (1, 2):
        await world.call("POST", f"/pulls/{number}/reviews", {"event": "APPROVED"})
    await world.call("PATCH", "/pulls/2", {"base": "free"})
    await upgrade_from_0030(world)
    stale = [
        [one["stale"] for one in (await world.call("GET", f"/pulls/{number}/reviews")).json()]
        for number in (1, 2)
    ]
    assert stale == [[False], [True]]
    world.repos.merge_rules.clear()
    await world.scheduled_merges.step()
    await world.work()
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 204


@pytest.mark.parametrize("change", ["base", "head", "none"])
async def test_a_scheduled_merge_of_a_former_release_ends_if_the_pull_request_has_changed_since(
    world, change
):
    await world.propose_many("fix")
    if change == "base":
        await retarget(world, "free")
    elif change == "head":
        world.repos.comparison = comparison(head_sha=NEXT)
        await world.deliver(push("refs/heads/fix"))
        await world.work()
    for branch in ("main", "free"):
        protect(world, branch, required_approvals=0, missing_checks=["ci"])
    scheduled = await world.call("POST", "/pulls/1/merge", {"merge_when_checks_succeed": True})
    assert scheduled.status_code == 201
    async with world.db.transaction() as tx:
        await tx.execute(scheduled_merge_table.update().values(created_at=THEN))
    await upgrade_from_0030(world)
    world.repos.merge_rules.clear()
    await world.scheduled_merges.step()
    await world.work()
    merged = (await world.call("GET", "/pulls/1/merge")).status_code == 204
    assert (merged, len(world.merges())) == ((True, 1) if change == "none" else (False, 0))
    assert (await world.call("GET", "/pulls/1/merge/scheduled")).status_code == 404
