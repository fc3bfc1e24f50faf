"""Reasons against a merge, shown before an attempt. Bob (2) proposes, Ann (1) owns, Cat (3) reads."""

import msgspec
import pytest

from ingot_chassis.errors import Unavailable
from ingot_testing.service import count_statements

from ..builders import APP, BASE, HEAD, NEXT, comparison, repository
from .test_protections import APPROVED, protect, review

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
RULE = "the rule 'main' protects the branch: "


async def refusals(world, **caller):
    answer = await world.call("GET", "/pulls/1/merge/refusals", **caller)
    assert answer.status_code == 200, answer.text
    return {refusal["reason"]: refusal["overridable"] for refusal in answer.json()}


async def test_nothing_refuses_what_can_be_merged(world):
    await world.propose()
    assert await refusals(world) == {}
    assert await refusals(world, as_=3) == {"write access to the repository is needed": False}
    assert await refusals(world, as_=0) == {"sign in to do that": False}


@pytest.mark.parametrize("may_override", [True, False])
async def test_each_demand_of_a_rule_is_a_reason(world, may_override):
    protect(
        world,
        required_approvals=2,
        may_merge=False,
        may_override=may_override,
        missing_checks=["ci", "lint"],
        block_on_rejected_reviews=True,
        block_on_outdated_branch=True,
        block_on_official_review_requests=True,
    )
    world.repos.comparison = comparison(base_sha=NEXT)
    await world.propose()
    await review(world, {"event": "REQUEST_CHANGES", "body": "no"}, as_=1)
    requested = {"reviewers": ["ann"]}
    assert (await world.call("POST", "/pulls/1/requested_reviewers", requested)).status_code == 201
    await refusals(world, remember=True)
    with count_statements(world.db) as statements:
        shown = await refusals(world, remember=True)
    assert shown == {
        RULE + reason: may_override
        for reason in (
            "you are not among those who may merge into it",
            "it has 0 of 2 approvals",
            "changes are requested",
            "reviews are requested",
            "the head branch is behind the base branch",
            "these checks have not succeeded: ci, lint",
        )
    }
    # On PostgreSQL that of open blockers is prepared, and not counted.
    assert len(statements) == 4


@pytest.mark.parametrize("caller", [0, 1, 3])
async def test_a_pull_request_shows_the_same_reasons(world, caller):
    protect(world, required_approvals=1)
    await world.propose()
    listed = (await world.call("GET", "/pulls/1/merge/refusals", as_=caller)).json()
    assert (await world.call("GET", "/pulls/1", as_=caller)).json()["merge_refusals"] == listed != []


async def test_who_may_not_write_hears_nothing_of_rules_and_blockers(world):
    protect(world, required_approvals=2)
    await world.propose()
    await world.open_issue()
    blocker = {"owner": "ann", "repo": "app", "index": 2}
    assert (await world.call("POST", "/issues/1/dependencies", blocker)).status_code == 201
    assert len(await refusals(world)) == 2
    assert await refusals(world, as_=3) == {"write access to the repository is needed": False}


async def test_a_draft_that_conflicts_and_is_blocked_says_each_of_it(world):
    world.repos.comparison = comparison(mergeable=False)
    world.repos.branches[APP, "main"] = BASE
    await world.propose(title="WIP: Fix")
    await world.open_issue()
    blocker = {"owner": "ann", "repo": "app", "index": 2}
    assert (await world.call("POST", "/issues/1/dependencies", blocker)).status_code == 201
    assert set(await refusals(world)) == {
        "the title says that it is work in progress",
        "the branches conflict",
        "it is blocked by 1 open issue",
    }


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"archived": True}, "the repository is archived"),
        (
            dict.fromkeys(
                ("allow_merge_commits", "allow_rebase", "allow_rebase_explicit", "allow_squash_merge",
                 "allow_fast_forward_only_merge"), False
            ),
            "the repository allows no style of merging",
        ),
    ],
)  # fmt: skip
async def test_what_the_repository_does_not_allow_is_a_reason(world, changed, reason):
    await world.propose()
    world.repos.repositories[APP] = msgspec.structs.replace(repository(), **changed)
    assert await refusals(world) == {reason: False}


async def test_what_is_merged_has_one_reason(world):
    protect(world)
    await world.propose()
    await review(world, APPROVED, as_=1)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    assert await refusals(world) == {"the pull request is merged": False}


async def test_what_was_compared_last_time_is_called_recorded(world):
    protect(world, block_on_outdated_branch=True, required_approvals=1)
    world.repos.comparison = comparison(base_sha=NEXT, mergeable=False)
    world.repos.branches[APP, "main"] = NEXT
    await world.propose()
    answer = await world.call("GET", "/pulls/1/merge/refusals")
    recorded = {refusal["kind"]: refusal["reason"] for refusal in answer.json() if refusal["recorded"]}
    behind = f"{RULE}the head branch is behind the base branch"
    assert recorded == {"conflict": "the branches conflict", "outdated": behind}


async def test_what_a_scheduled_merge_waits_for_may_pass(world):
    protect(world, required_approvals=1, may_merge=False)
    await world.propose()
    answer = await world.call("GET", "/pulls/1/merge/refusals")
    assert {refusal["reason"]: refusal["may_pass"] for refusal in answer.json()} == {
        f"{RULE}you are not among those who may merge into it": False,
        f"{RULE}it has 0 of 1 approvals": True,
    }


@pytest.mark.parametrize(
    ("base", "head", "kind"),
    [
        (BASE, HEAD, "conflict"), (BASE, None, "conflict"), (None, HEAD, "no_base_branch"),
        (NEXT, HEAD, "comparing"), (BASE, NEXT, "comparing"),
    ],
)  # fmt: skip
async def test_a_conflict_is_told_apart_from_branches_that_are_gone_or_have_moved(world, base, head, kind):
    world.repos.comparison = comparison(mergeable=False)
    pull = await world.propose()
    tips = {(APP, "main"): base, (pull["head"]["repo_id"], pull["head"]["ref"]): head}
    world.repos.branches.update({branch: tip for branch, tip in tips.items() if tip})
    for who in (1, 3):
        answer = await world.call("GET", "/pulls/1/merge/refusals", as_=who)
        assert kind in [refusal["kind"] for refusal in answer.json()]


async def test_a_pull_request_is_shown_while_repos_is_unavailable(world):
    await world.propose()

    async def unavailable(*_arguments, **_more):
        raise Unavailable("repos is unavailable")

    world.components.repos.merge_rule = unavailable
    shown = await world.call("GET", "/pulls/1")
    assert (shown.status_code, shown.json()["merge_refusals"]) == (200, None)


async def test_a_list_has_no_refusals(world):
    await world.propose()
    [listed] = (await world.call("GET", "/pulls")).json()
    assert "merge_refusals" not in listed
