"""Events of an issue as sentences. The kinds are the kinds in the API's timeline."""

from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup, escape

from ingot_web.pages.rules.templates import duration

SAID = frozenset({"comment", "review", "code"})
"""Kinds whose body was written by a person."""


def is_said(event: Any) -> bool:
    """True if the event is shown as a comment."""
    return event["type"] in SAID and bool(event["body"])


def words(event: Any, verdict: str = "") -> str:
    """Return a sentence for the event; empty if it is not shown. ``verdict`` is the state of its review."""
    if event["type"] == "review" and verdict in _VERDICTS:
        return _VERDICTS[verdict]
    describe = _DESCRIBED.get(event["type"])
    return describe(event) if describe else _PLAIN.get(event["type"], "")


def links_to_entries(kind: str, address: str, ids: Iterable[int]) -> Markup:
    """Return an anchor for each entry on another page of the timeline, with a link to the entry.

    A browser shows only the link that the URL names (``:target``).
    """
    way = escape(address)
    links = (f'<a id={kind}-{number} href="{way}/{number}"></a>' for number in ids)
    return Markup("".join(links))  # noqa: S704 - numbers, and the address is escaped


def _label(event: Any) -> str:
    if not event["label"]:
        return ""
    return f"{'added' if event['body'] == '1' else 'removed'} the label {event['label']['name']}"


def _milestone(event: Any) -> str:
    return (
        f"set the milestone {event['milestone']['title']}" if event["milestone"] else "removed the milestone"
    )


def _assignee(event: Any) -> str:
    if not event["assignee"]:
        return ""
    return f"{'unassigned' if event['removed_assignee'] else 'assigned'} {event['assignee']['login']}"


def _review_request(event: Any) -> str:
    team = event["assignee_team"]
    reviewer = event["assignee"]["login"] if event["assignee"] else team["name"] if team else "somebody"
    return f"asked {reviewer} for a review{' no longer' if event['removed_assignee'] else ''}"


def _reference(event: Any) -> str:
    return MENTION if event["ref_issue"] else ""


def _dependency(event: Any) -> str:
    number = f" #{event['dependent_issue']['number']}" if event["dependent_issue"] else ""
    return f"{'added' if event['type'].startswith('add') else 'removed'} the dependency{number}"


def _time(event: Any) -> str:
    seconds, verb = event["body"], "added" if event["type"].startswith("add") else "deleted"
    return f"{verb} {duration(int(seconds)) if seconds.isdecimal() else 'some'} of spent time"


def _cancelled_merge(event: Any) -> str:
    reason = f": {event['body']}" if event["body"] else ""
    return f"cancelled the scheduled merge{reason}"


def _ref(event: Any) -> str:
    """Return a description of a change of the issue's branch or tag."""
    before, after = (
        event[name].removeprefix("refs/heads/").removeprefix("refs/tags/") for name in ("old_ref", "new_ref")
    )
    if not after:
        return f"removed the ref {before}"
    return f"changed the ref from {before} to {after}" if before else f"set the ref {after}"


MENTION = "mentioned this in"
"""The sentence of a mention; the issue follows."""
_DESCRIBED: dict[str, Callable[[Any], str]] = {
    "label": _label,
    "milestone": _milestone,
    "assignees": _assignee,
    "review_request": _review_request,
    "change_title": lambda event: f"changed the title from “{event['old_title']}” to “{event['new_title']}”",
    "change_target_branch": lambda event: f"changed the target from {event['old_ref']} to {event['new_ref']}",
    "change_issue_ref": _ref,
    "pull_cancel_scheduled_merge": _cancelled_merge,
    "delete_branch": lambda event: f"deleted the branch {event['old_ref']}",
    **dict.fromkeys(("issue_ref", "comment_ref", "pull_ref"), _reference),
    **dict.fromkeys(("add_dependency", "remove_dependency"), _dependency),
    **dict.fromkeys(("add_time_manual", "delete_time_manual"), _time),
}
_VERDICTS = {"APPROVED": "approved the changes", "REQUEST_CHANGES": "asked for changes"}
_PLAIN = {
    "commit_ref": "mentioned this in a commit",
    "reopen": "reopened this",
    "close": "closed this",
    "merge_pull": "merged this",
    "pull_scheduled_merge": "scheduled the merge",
    "pull_push": "pushed commits",
    "lock": "locked the conversation",
    "unlock": "unlocked the conversation",
    "review": "reviewed the changes",
    "dismiss_review": "dismissed a review",
    "start_tracking": "began to work",
    "stop_tracking": "stopped working",
    "cancel_tracking": "discarded a stopwatch",
    "added_deadline": "set the due date",
    "modified_deadline": "changed the due date",
    "removed_deadline": "removed the due date",
    "pin": "pinned this",
    "unpin": "unpinned this",
}
