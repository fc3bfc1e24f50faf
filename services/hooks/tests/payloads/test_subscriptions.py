"""Names of events, and the branch filter."""

import pytest

from ingot_contracts.hooks.webhooks import FAMILIES, PARTS, boxes
from ingot_hooks.payloads.rules.subscriptions import EVENTS, KINDS, is_subscribed, kind_of, subscribed_events


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("subscribed", EVENTS)
def test_an_event_reaches_exactly_its_subscribers(event, subscribed):
    assert is_subscribed([subscribed], "", kind=event, branch="main") is (event == subscribed)


@pytest.mark.parametrize(
    ("subscribed", "event", "action", "gets_it"),
    [
        ("issues", "issues", "label_updated", True),
        ("issue_label", "issues", "label_updated", True),
        ("issue_label", "issues", "label_cleared", True),
        ("issue_label", "issues", "opened", False),
        ("issue_label", "pull_request", "label_updated", False),
        ("issue_assign", "issues", "unassigned", True),
        ("issue_milestone", "issues", "demilestoned", True),
        ("issues_only", "issues", "opened", True),
        ("issues_only", "issues", "label_updated", False),
        ("issues_only", "pull_request", "opened", False),
        ("pull_request", "pull_request", "synchronized", True),
        ("pull_request_sync", "pull_request", "synchronized", True),
        ("pull_request_sync", "pull_request", "opened", False),
        ("pull_request_assign", "pull_request", "assigned", True),
        ("pull_request_label", "pull_request", "label_updated", True),
        ("pull_request_milestone", "pull_request", "milestoned", True),
        ("pull_request_only", "pull_request", "closed", True),
        ("pull_request_only", "pull_request", "synchronized", False),
        ("pull_request_comment", "issue_comment", "created", False),
        ("pull_request_review_request", "pull_request", "review_requested", True),
        ("pull_request_review_request", "pull_request", "review_request_removed", True),
        ("pull_request_review", "pull_request", "review_requested", False),
    ],
)
def test_a_hook_may_subscribe_to_a_part_of_a_family(subscribed, event, action, gets_it):
    kind = kind_of(event, action)
    assert subscribed_events([subscribed]) == [subscribed]
    assert is_subscribed([subscribed], "", kind=kind, branch="") is gets_it


@pytest.mark.parametrize(
    ("branch_filter", "branch", "passes"),
    [
        ("", "main", True),
        ("main", "main", True),
        ("main", "maintenance", False),
        ("release/*", "release/1.0", True),
        ("release/*", "release/1.0/hotfix", True),
        ("{main,release/*}", "release/1", True),
        ("{main, dev}", "dev", True),
        ("{main,dev}", "feature", False),
        ("MAIN", "main", False),
        ("v[0-9]", "v1", True),
        ("[", "[", True),
        ("main", "", True),
        ("*" * 200, "m" * 200, True),
    ],
)
def test_a_branch_filter_is_a_pattern_or_a_list_of_them(branch_filter, branch, passes):
    assert is_subscribed(["push"], branch_filter, kind="push", branch=branch) is passes


def test_naming_no_event_means_push():
    assert subscribed_events([]) == ["push"]


@pytest.mark.parametrize(
    ("subscribed", "gets_it"),
    [
        ("pull_request", True),
        ("pull_request_review", True),
        ("pull_request_review_comment", True),
        ("pull_request_review_approved", False),
        ("pull_request_only", False),
        ("pull_request_comment", False),
        ("issue_comment", False),
    ],
)
def test_who_gets_a_comment_that_is_a_review(subscribed, gets_it):
    assert is_subscribed([subscribed], "", kind="pull_request_review_comment", branch="") is gets_it


def test_parts_are_of_families_or_of_other_parts_and_no_name_stands_twice():
    names = [*EVENTS, *KINDS]
    assert len(set(names)) == len(names)
    assert {part.of for part in PARTS} <= set(names)


def test_every_box_has_a_position_of_its_own():
    positions = [row.box for row in (*FAMILIES, *PARTS) if row.label]
    assert sorted(positions) == list(range(1, len(boxes()) + 1))
