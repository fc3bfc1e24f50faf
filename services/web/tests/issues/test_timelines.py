"""Events of an issue, in words."""

from typing import get_args

import pytest

from ingot_contracts.issues.timelines import TimelineType
from ingot_web.issues.rules.timelines import is_said, words

EMPTY = {
    "body": "", "label": None, "milestone": None, "assignee": None, "assignee_team": None,
    "removed_assignee": False, "old_title": "", "new_title": "", "old_ref": "", "new_ref": "",
    "ref_issue": None, "dependent_issue": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "close"}, "closed this"),
        ({"type": "label", "label": {"name": "bug"}, "body": "1"}, "added the label bug"),
        ({"type": "label", "label": {"name": "bug"}}, "removed the label bug"),
        ({"type": "label"}, ""),
        ({"type": "milestone", "milestone": {"title": "1.1"}}, "set the milestone 1.1"),
        ({"type": "milestone"}, "removed the milestone"),
        ({"type": "assignees", "assignee": {"login": "ann"}}, "assigned ann"),
        ({"type": "assignees", "assignee": {"login": "ann"}, "removed_assignee": True}, "unassigned ann"),
        ({"type": "review_request", "assignee": {"login": "ann"}}, "asked ann for a review"),
        (
            {"type": "review_request", "assignee_team": {"name": "crew"}, "removed_assignee": True},
            "asked crew for a review no longer",
        ),
        ({"type": "review_request"}, "asked somebody for a review"),
        ({"type": "change_title", "old_title": "a", "new_title": "b"}, "changed the title from “a” to “b”"),
        ({"type": "add_dependency", "dependent_issue": {"number": 3}}, "added the dependency #3"),
        ({"type": "remove_dependency"}, "removed the dependency"),
        ({"type": "add_time_manual", "body": "4200"}, "added 1 h 10 min of spent time"),
        ({"type": "add_time_manual"}, "added some of spent time"),
        ({"type": "delete_time_manual", "body": "60"}, "deleted 1 min of spent time"),
        ({"type": "change_issue_ref", "new_ref": "refs/heads/a/b"}, "set the ref a/b"),
        (
            {"type": "change_issue_ref", "old_ref": "refs/tags/v1", "new_ref": "b"},
            "changed the ref from v1 to b",
        ),
        ({"type": "change_issue_ref", "old_ref": "b"}, "removed the ref b"),
        ({"type": "issue_ref"}, ""),
        ({"type": "of a later release"}, ""),
    ],
)
def test_an_event_is_said_in_words(fields, text):
    assert words(EMPTY | fields) == text


FULL = {
    "body": "1", "label": {"name": "bug"}, "milestone": {"title": "1.1"}, "assignee": {"login": "ann"},
    "assignee_team": None, "removed_assignee": False, "old_title": "a", "new_title": "b", "old_ref": "a",
    "new_ref": "b", "ref_issue": {"number": 2}, "dependent_issue": {"number": 3},
}  # fmt: skip


@pytest.mark.parametrize("kind", get_args(TimelineType))
def test_whatever_a_timeline_says_is_shown(kind):
    event = FULL | {"type": kind}
    assert words(event) or is_said(event)


def test_a_review_says_its_verdict():
    said = [
        words(EMPTY | {"type": "review"}, verdict) for verdict in ("APPROVED", "REQUEST_CHANGES", "COMMENT")
    ]
    assert said == ["approved the changes", "asked for changes", "reviewed the changes"]
    assert words(EMPTY | {"type": "close"}, "APPROVED") == "closed this"


def test_what_a_person_wrote_is_a_comment():
    assert is_said(EMPTY | {"type": "comment", "body": "hello"})
    assert not is_said(EMPTY | {"type": "review"})
    assert not is_said(EMPTY | {"type": "label", "body": "1"})
