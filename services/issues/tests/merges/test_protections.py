"""Demands of the base branch's protection before a merge.

Bob (2) proposes, Ann (1), Cat (3) and Dan (4) review.
"""

import pytest

from ingot_contracts.repos.merge_rules import MergeRule

from ..builders import APP, NEXT, comparison, push

RULE = {"rule_name": "main", "required_approvals": 1}
APPROVED, REFUSED = {"event": "APPROVED"}, {"event": "REQUEST_CHANGES", "body": "no"}


def protect(world, **fields):
    world.repos.merge_rules[APP, "main"] = MergeRule(**RULE | fields)


async def review(world, body, *, as_):
    answer = await world.call("POST", "/pulls/1/reviews", body, as_=as_)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def merge(world, **fields):
    answer = await world.call("POST", "/pulls/1/merge", fields)
    return answer.status_code, answer.json()["message"] if answer.content else answer.headers.get(
        "x-error-message", ""
    )


async def test_a_merge_waits_for_the_approvals_of_writers(world):
    world.repos.levels[APP, 4] = "write"
    protect(world, required_approvals=2)
    await world.propose()
    await review(world, APPROVED, as_=1)
    await review(world, APPROVED, as_=1)
    assert (await review(world, APPROVED, as_=3))["official"] is False
    assert await merge(world) == (405, "the rule 'main' protects the branch: it has 1 of 2 approvals")
    assert (await review(world, APPROVED, as_=4))["official"] is True
    assert await merge(world) == (200, "")


@pytest.mark.parametrize(
    ("rule", "bodies", "words"),
    [
        ({}, [APPROVED, REFUSED], "it has 0 of 1 approvals"),
        ({"required_approvals": 0, "block_on_rejected_reviews": True}, [REFUSED], "changes are requested"),
        ({"required_approvals": 0, "missing_checks": ["ci", "lint"]}, [], "have not succeeded: ci, lint"),
        ({"may_merge": False}, [APPROVED], "you are not among those who may merge into it"),
        ({"missing_checks": ["ci"]}, [], "it has 0 of 1 approvals; these checks have not succeeded: ci"),
    ],
)
async def test_what_is_missing_is_said(world, rule, bodies, words):
    protect(world, **rule)
    await world.propose()
    for body in bodies:
        await review(world, body, as_=1)
    status, message = await merge(world)
    assert (status, words in message) == (405, True), message
    assert world.merges() == []


async def test_a_later_approval_ends_a_refusal_and_a_dismissed_one_counts_no_more(world):
    protect(world, block_on_rejected_reviews=True)
    await world.propose()
    await review(world, REFUSED, as_=1)
    approved = await review(world, APPROVED, as_=1)
    path = f"/pulls/1/reviews/{approved['id']}"
    assert (await world.call("POST", f"{path}/dismissals", {})).status_code == 200
    assert (await merge(world))[0] == 405
    assert (await world.call("POST", f"{path}/undismissals")).status_code == 200
    assert (await merge(world))[0] == 200


@pytest.mark.parametrize(
    ("approvers", "teams", "official"), [([3], [], True), ([1], [], False), ([], [9], True), ([], [8], False)]
)
async def test_a_list_of_approvers_says_whose_approval_counts(world, approvers, teams, official):
    protect(world, approvers=approvers, approving_teams=teams)
    world.repos.team_members[9] = [3]
    await world.propose()
    shown = await review(world, APPROVED, as_=3)
    assert shown["official"] is official
    assert (await merge(world))[0] == (200 if official else 405)


async def test_who_is_no_approver_any_more_counts_no_more(world):
    protect(world, approvers=[1, 3])
    await world.propose()
    await review(world, APPROVED, as_=3)
    protect(world, approvers=[1])
    assert (await merge(world))[0] == 405


@pytest.mark.parametrize(
    ("rule", "dismissed", "status"),
    [
        ({"dismiss_stale_approvals": True}, True, 405),
        ({"ignore_stale_approvals": True}, False, 405),
        ({}, False, 200),
    ],
)
async def test_an_approval_of_an_earlier_head_counts_as_the_rule_says(world, rule, dismissed, status):
    protect(world, **rule)
    await world.propose_many("fix")
    approved = await review(world, APPROVED, as_=1)
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push("refs/heads/fix"))
    await world.work()
    shown = (await world.call("GET", f"/pulls/1/reviews/{approved['id']}")).json()
    assert (shown["stale"], shown["dismissed"]) == (True, dismissed)
    assert ("dismiss_review" in await world.kinds()) is dismissed
    assert (await merge(world))[0] == status


async def test_a_head_that_moves_while_it_is_merged_is_judged_anew(world):
    protect(world, dismiss_stale_approvals=True)
    await world.propose_many("fix")
    await review(world, APPROVED, as_=1)
    world.repos.comparison = comparison(head_sha=NEXT)
    assert (await merge(world))[0] == 405
    await review(world, APPROVED, as_=1)
    assert await merge(world) == (200, "")
    assert [one.head_sha for one in world.merges()][-1] == NEXT


async def test_a_head_behind_its_base_is_refused_as_the_branches_are_now(world):
    protect(world, required_approvals=0, block_on_outdated_branch=True)
    await world.propose_many("fix")
    world.repos.comparison = comparison(base_sha=NEXT)
    status, message = await merge(world)
    assert (status, "is behind" in message) == (405, True)
    world.repos.comparison = comparison()
    assert await merge(world) == (200, "")


async def test_an_official_request_for_a_review_blocks(world):
    protect(world, required_approvals=0, block_on_official_review_requests=True)
    await world.propose()
    requested = "/pulls/1/requested_reviewers"
    assert (await world.call("POST", requested, {"reviewers": ["cat"]})).status_code == 201
    assert await merge(world) == (200, "")
    await world.propose(base="stable")
    world.repos.merge_rules[APP, "stable"] = world.repos.merge_rules[APP, "main"]
    requested = "/pulls/2/requested_reviewers"
    assert (await world.call("POST", requested, {"reviewers": ["ann"]})).status_code == 201
    refused = await world.call("POST", "/pulls/2/merge")
    assert (refused.status_code, "reviews are requested" in refused.headers["x-error-message"]) == (405, True)


@pytest.mark.parametrize(("may_override", "status"), [(True, 200), (False, 405)])
async def test_a_rule_is_overridden_by_those_whom_it_lets(world, may_override, status):
    protect(world, missing_checks=["ci"], may_override=may_override)
    await world.propose()
    assert (await merge(world))[0] == 405
    assert (await merge(world, force_merge=True))[0] == status
