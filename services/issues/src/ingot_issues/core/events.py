"""The events of issues: what is announced about issues, comments, labels, milestones and times.

Every event is clipped to the size that may be published. Stored texts are clipped as well, by the kind of their field:
rows may be older than the limits on requests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import inspect

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.attachments import Attachment
from ingot_contracts.identity import User
from ingot_contracts.issues import (
    Changes,
    Comment,
    CommentAction,
    CommentChanged,
    Event,
    Issue,
    IssueAction,
    IssueChanged,
    Label,
    Milestone,
    PullRequest,
    PullRequestAction,
    PullRequestBranch,
    PullRequestChanged,
    PullReview,
    RequestedTeam,
)
from ingot_contracts.limits import (
    ASSIGNEES,
    EVENT_BODY_BYTES,
    EVENT_LABELS,
    EVENT_NAME_BYTES,
    EVENT_TEXT_BYTES,
    NAME_CHARACTERS,
    Omitted,
    clip,
)
from ingot_contracts.repos import Repository
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import accounts, issues
from ingot_issues.store.accounts import People
from ingot_issues.store.comments import AnyComment
from ingot_issues.store.issues import IssueDetails, PullDetails
from ingot_issues.store.reviews import ReviewCommentRow

_Event = TypeVar("_Event", bound=Event)
MakeEvent = Callable[[Repository, User], Event]
"""Makes an event of the repository in which it happened and its sender."""
Action = Literal["created", "edited", "deleted"]

MOST_ASSETS = 10
"""Files of an issue, and of a comment, in an event."""
MOST_TOPICS = 50
"""Topics of a repository in an event."""
MOST_CHARACTER_BYTES = 6
"""What JSON needs for a control character."""
BRANCH_BYTES = NAME_CHARACTERS * MOST_CHARACTER_BYTES
"""Room for any name of a branch: a clipped name would be the name of another branch."""

_ROOM: dict[tuple[type[msgspec.Struct], str], int] = {
    (Issue, "body"): EVENT_BODY_BYTES,
    (PullRequest, "body"): EVENT_BODY_BYTES,
    (Comment, "body"): EVENT_BODY_BYTES,
    (Changes, "body"): EVENT_BODY_BYTES,
    (Changes, "ref"): BRANCH_BYTES,
    (Attachment, "digest"): 500,
    (Attachment, "uuid"): 250,
    (Label, "color"): 50,
    (Label, "description"): 250,
    (Milestone, "description"): EVENT_TEXT_BYTES,
    (PullReview, "body"): EVENT_TEXT_BYTES,
    (PullRequestBranch, "label"): BRANCH_BYTES,
    (PullRequestBranch, "ref"): BRANCH_BYTES,
    (Repository, "default_branch"): BRANCH_BYTES,
    (Repository, "description"): EVENT_TEXT_BYTES,
    (Repository, "topics"): 250,
    (RequestedTeam, "description"): 250,
    (Repository, "website"): EVENT_TEXT_BYTES,
}
"""Bytes for the texts of a field; every other field has EVENT_NAME_BYTES."""

_MOST: dict[tuple[type[msgspec.Struct], str], int] = {
    (kind, name): most
    for kind in (Issue, PullRequest, Comment, Repository)
    for name, most in {
        "assets": MOST_ASSETS,
        "assignees": ASSIGNEES,
        "labels": EVENT_LABELS,
        "requested_reviewers": ASSIGNEES,
        "requested_reviewers_teams": ASSIGNEES,
        "topics": MOST_TOPICS,
    }.items()
}
"""Items of the lists in events."""


_SMALL = (
    inspect.BoolType,
    inspect.DateTimeType,
    inspect.IntType,
    inspect.LiteralType,
    inspect.NoneType,
)
"""Types of values that take a few bytes each."""


@dataclass
class Remainder:
    """How much an event leaves out."""

    characters: int = 0
    labels: int = 0
    assets: int = 0


def emit(tx: Tx, event: Event, repository_id: int) -> None:
    """Announce an event of a repository, in the order of its commits."""
    tx.emit(clip_event(event), key=repository_id)


async def announce(
    tx: Tx,
    context: RepositoryContext,
    issue_id: int,
    *actions: IssueAction | PullRequestAction,
    changes: Changes | None = None,
) -> IssueDetails:
    """Announce what happened to an issue or pull request; its details as they are now. Raises NotFound."""
    issue = await issues.get_details_by_id(tx, issue_id, context.actor_id)
    if issue is None:
        raise NotFound
    sender = context.presenter.user(issue.viewer)
    for action in actions:
        _emit_action(tx, context, issue, action, sender, changes if action == "edited" else None)
    return issue


def announce_opened(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Announce an issue whose details are complete, and whose author is the actor."""
    _emit_action(tx, context, issue, "opened", context.presenter.user(issue.author), None)


def _emit_action(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    action: IssueAction | PullRequestAction,
    sender: User,
    changes: Changes | None,
) -> None:
    presenter, repository = context.presenter, context.presenter.repository(context.repository)
    event: Event
    if isinstance(issue, PullDetails):
        pull = presenter.pull(issue, repository)
        event = PullRequestChanged(
            action=action, pull_request=pull, repository=repository, sender=sender, changes=changes
        )
    elif action != "synchronized":
        shown = presenter.issue(issue, repository)
        event = IssueChanged(
            action=action, issue=shown, repository=repository, sender=sender, changes=changes
        )
    else:
        return
    emit(tx, event, repository.id)


async def announce_comment(
    tx: Tx,
    context: RepositoryContext,
    comment: AnyComment,
    action: CommentAction | None,
    changes: Changes | None = None,
) -> Comment:
    """Announce what happened to a comment, unless ``action`` is None; the comment as it is presented."""
    issue, people = await _about_comment(tx, context, comment.issue_id, comment.author_id)
    shown = context.presenter.comment(comment, context.presenter.repository(context.repository), people)
    if action is not None:
        _emit_comment(tx, context, issue, shown, action, changes)
    return shown


async def announce_comment_on_line(
    tx: Tx,
    context: RepositoryContext,
    issue_id: int,
    comment: ReviewCommentRow,
    action: CommentAction,
    changes: Changes | None = None,
) -> None:
    """The same for a comment of a review on a line of a pull request."""
    pull, people = await _about_comment(tx, context, issue_id, comment.author_id)
    if not isinstance(pull, PullDetails):
        raise NotFound
    repository = context.presenter.repository(context.repository)
    shown = context.presenter.comment_on_line(comment, pull, repository, people)
    _emit_comment(tx, context, pull, shown, action, changes, on_line=True)


async def _about_comment(
    tx: Tx, context: RepositoryContext, issue_id: int, author_id: int
) -> tuple[IssueDetails, People]:
    """The issue of a comment, and its author. Raises NotFound."""
    issue = await issues.get_details_by_id(tx, issue_id, context.actor_id)
    if issue is None:
        raise NotFound
    if author_id == context.actor_id:
        return issue, {context.actor_id: issue.viewer} if issue.viewer else {}
    return issue, await accounts.get_people(tx, [author_id])


def _emit_comment(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    comment: Comment,
    action: CommentAction,
    changes: Changes | None,
    *,
    on_line: bool = False,
) -> None:
    presenter, repository = context.presenter, context.presenter.repository(context.repository)
    event = CommentChanged(
        action=action,
        issue=presenter.issue(issue, repository),
        comment=comment,
        repository=repository,
        sender=presenter.user(issue.viewer),
        changes=changes,
        is_pull=issue.is_pull,
        on_line=on_line,
    )
    emit(tx, event, repository.id)


async def announce_in_repository(tx: Tx, context: RepositoryContext, make_event: MakeEvent) -> None:
    """Announce what happened to a label, a milestone or a time."""
    repository = context.presenter.repository(context.repository)
    people = await accounts.get_people(tx, [context.actor_id])
    sender = context.presenter.user(people.get(context.actor_id))
    emit(tx, make_event(repository, sender), repository.id)


def clip_event(event: _Event) -> _Event:
    """``event`` in less than EVENT_BYTES. The field ``omitted``, where there is one, says how much is left out."""
    remainder = Remainder()
    fitting: _Event = _fit(event, EVENT_NAME_BYTES, remainder)
    if fitting is event or not hasattr(fitting, "omitted"):
        return fitting
    omitted = Omitted(characters=remainder.characters, labels=remainder.labels, assets=remainder.assets)
    return msgspec.structs.replace(fitting, omitted=omitted)


def _fit(value: str | int | list[Any] | msgspec.Struct, room: int, remainder: Remainder) -> Any:
    """``value`` with texts of ``room`` bytes at most, unless their fields have another limit; itself when it fits."""
    if isinstance(value, str):
        start = clip(value, room)
        remainder.characters += len(value) - len(start)
        return start
    if isinstance(value, list):
        return [_fit(item, room, remainder) for item in value]
    if isinstance(value, int):
        return value
    changed: dict[str, Any] = {}
    for name, own, most in _fields(type(value)):
        field, own_room = getattr(value, name), own or room
        # Nearly all fields end here, which keeps every change of an issue fast.
        if not field or (type(field) is str and len(field) * MOST_CHARACTER_BYTES <= own_room):
            continue
        if most and len(field) > most:
            remainder.labels += len(field) - most if name == "labels" else 0
            remainder.assets += len(field) - most if name == "assets" else 0
            changed[name] = field = field[:most]
        fitting = _fit(field, own_room, remainder)
        if fitting is not field and fitting != field:
            changed[name] = fitting
    return msgspec.structs.replace(value, **changed) if changed else value


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, int, int], ...]:
    """The fields that may be too large: name, bytes (0: as many as the surrounding value has), items (0: no list)."""
    described = cast("inspect.StructType", inspect.type_info(kind))
    return tuple(
        (field.name, _ROOM.get((kind, field.name), 0), _MOST.get((kind, field.name), 0))
        for field in described.fields
        if not all(isinstance(one, _SMALL) for one in getattr(field.type, "types", (field.type,)))
    )
