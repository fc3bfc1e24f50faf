"""Notices: what hooks get of an event, one or more of each, with the payload that receivers know.

A payload is built from the event alone, without a call to another service. ``secret`` is always empty: signatures are
in the headers. ``omitted`` is present when the event leaves something out.
"""

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.identity import User
from ingot_contracts.issues import (
    CommentChanged,
    IssueChanged,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
    ReviewStateName,
)
from ingot_contracts.limits import Omitted
from ingot_contracts.repos import (
    NO_COMMIT,
    Permission,
    PushReceived,
    ReleaseChanged,
    Repository,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryForked,
    StatusCreated,
)
from ingot_hooks.core.payloads import (
    CreatePayload,
    DeletePayload,
    ForkPayload,
    IssueCommentPayload,
    IssuePayload,
    Payload,
    PullRequestPayload,
    PushPayload,
    ReleasePayload,
    RepositoryPayload,
    ReviewText,
    StatusPayload,
)
from ingot_hooks.core.subscriptions import kind_of

MAX_COMMITS = 5
BRANCHES, TAGS = "refs/heads/", "refs/tags/"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the hooks of a repository get it, and those of ``owner_id`` if the owner is an organization.

    An id of a user is never the id of an organization, so ``owner_id`` finds no hooks when the owner is a user.
    ``kind`` is the part of the family ``event``. Branch filters are matched with ``branch``, which is empty for a tag
    and for an event without a branch.
    """

    event: str
    kind: str
    action: str = ""
    repository_id: int
    owner_id: int
    branch: str = ""
    payload: Payload


def notices_of_push(event: PushReceived) -> list[Notice]:
    """A new ref makes `create` before `push`, a removed one makes `delete` after it."""
    kind = "tag" if event.ref.startswith(TAGS) else "branch"
    short = event.ref.removeprefix(BRANCHES).removeprefix(TAGS)
    branch = short if kind == "branch" else ""
    repository, pusher = event.repository, event.pusher
    notices = [
        _notice(
            repository,
            "push",
            PushPayload(
                secret="",
                ref=event.ref,
                before=event.before,
                after=event.after,
                compare_url=event.compare_url,
                commits=event.commits[:MAX_COMMITS],
                repository=repository,
                pusher=pusher,
                sender=pusher,
                push_options=event.options or UNSET,
                omitted=_omitted(event),
            ),
            branch=branch,
        )
    ]
    if event.before == NO_COMMIT:
        created = CreatePayload(
            secret="", sha=event.after, ref=short, ref_type=kind, repository=repository, sender=pusher
        )
        notices.insert(0, _notice(repository, "create", created, branch=branch))
    if event.after == NO_COMMIT:
        removed = DeletePayload(
            secret="", ref=short, ref_type=kind, pusher_type="user", repository=repository, sender=pusher
        )
        notices.append(_notice(repository, "delete", removed, branch=branch))
    return notices


def notices_of_fork(event: RepositoryForked) -> list[Notice]:
    """For the hooks of the original."""
    payload = ForkPayload(secret="", forkee=event.forkee, repository=event.repository, sender=event.sender)
    return [_notice(event.forkee, "fork", payload)]


def notices_of_repository(event: RepositoryCreated | RepositoryDeleted) -> list[Notice]:
    """For repositories of organizations only."""
    if event.owner_kind != "organization":
        return []
    action = "created" if isinstance(event, RepositoryCreated) else "deleted"
    payload = RepositoryPayload(
        secret="",
        action=action,
        repository=msgspec.structs.replace(
            event.repository, permissions=Permission(admin=True, push=True, pull=True)
        ),
        organization=event.repository.owner,
        sender=event.sender,
    )
    return [_notice(event.repository, "repository", payload, action=action)]


def notices_of_issue(event: IssueChanged) -> list[Notice]:
    payload = IssuePayload(
        secret="",
        action=event.action,
        number=event.issue.number,
        changes=event.changes,
        issue=event.issue,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "issues", payload, action=event.action)]


def notices_of_comment(event: CommentChanged) -> list[Notice]:
    """One on a line is announced as a review that comments: its id is not one of those that `issue_comment` has."""
    payload = IssueCommentPayload(
        secret="",
        action=event.action,
        issue=event.issue,
        comment=event.comment,
        changes=event.changes,
        repository=event.repository,
        sender=event.sender,
        is_pull=event.is_pull,
        omitted=_omitted(event),
    )
    notice = _notice(event.repository, "issue_comment", payload, action=event.action)
    if event.on_line:
        family, kind = _REVIEWS["COMMENT"]
        return [msgspec.structs.replace(notice, event=family, kind=kind)]
    return [msgspec.structs.replace(notice, kind="pull_request_comment")] if event.is_pull else [notice]


def notices_of_pull_request(event: PullRequestChanged) -> list[Notice]:
    payload = PullRequestPayload(
        secret="",
        action=event.action,
        number=event.pull_request.number,
        changes=event.changes,
        pull_request=event.pull_request,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "pull_request", payload, action=event.action)]


_REVIEWS: dict[ReviewStateName, tuple[str, str]] = {
    "APPROVED": ("pull_request_approved", "pull_request_review_approved"),
    "REQUEST_CHANGES": ("pull_request_rejected", "pull_request_review_rejected"),
    "COMMENT": ("pull_request_comment", "pull_request_review_comment"),
}
"""The event and the part of it for each state of a review that was submitted."""


def notices_of_review(event: ReviewChanged) -> list[Notice]:
    """For a review that was submitted; nothing for one that was dismissed, or that counts again."""
    names = _REVIEWS.get(event.review.state)
    if event.action != "submitted" or names is None:
        return []
    payload = PullRequestPayload(
        secret="",
        action="reviewed",
        number=event.pull_request.number,
        pull_request=event.pull_request,
        repository=event.repository,
        sender=event.sender,
        review=ReviewText(type=names[1], content=event.review.body),
        omitted=_omitted(event),
    )
    notice = _notice(event.repository, "pull_request", payload, action="reviewed")
    return [msgspec.structs.replace(notice, event=names[0], kind=names[1])]


def notices_of_review_request(event: ReviewRequested) -> list[Notice]:
    action = "review_request_removed" if event.removed else "review_requested"
    payload = PullRequestPayload(
        secret="",
        action=action,
        number=event.pull_request.number,
        pull_request=event.pull_request,
        requested_reviewer=event.reviewer if event.team is None else None,
        requested_team=event.team,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "pull_request", payload, action=action)]


def notices_of_status(event: StatusCreated) -> list[Notice]:
    status = event.status
    payload = StatusPayload(
        secret="",
        id=status.id,
        sha=event.sha,
        state=status.status,
        context=status.context,
        description=status.description,
        target_url=status.target_url,
        created_at=status.created_at,
        updated_at=status.updated_at,
        repository=event.repository,
        sender=event.sender,
    )
    return [_notice(event.repository, "status", payload)]


def notices_of_release(event: ReleaseChanged) -> list[Notice]:
    payload = ReleasePayload(
        secret="",
        action=event.action,
        release=event.release,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "release", payload, action=event.action)]


def example_repository(owner: User, public_url: str, at: datetime) -> Repository:
    """The repository in the test delivery of a hook of an organization. It does not exist; its id is 0."""
    full_name = f"{owner.login}/example"
    return Repository(
        id=0,
        owner=owner,
        name="example",
        full_name=full_name,
        html_url=public_url + full_name,
        default_branch="main",
        created_at=at,
        updated_at=at,
    )


def notice_of_test(repository: Repository, sender: User, branch: str, sha: str) -> Notice:
    """A push that did not happen: the branch is at ``sha`` before and after it."""
    payload = PushPayload(
        secret="",
        ref=BRANCHES + branch,
        before=sha,
        after=sha,
        compare_url="",
        commits=[],
        repository=repository,
        pusher=sender,
        sender=sender,
    )
    return _notice(repository, "push", payload)


def native(notice: Notice) -> bytes:
    """The payload as JSON text, with the indentation that Gitea uses."""
    return msgspec.json.format(msgspec.json.encode(notice.payload), indent=2)


def _omitted(
    event: PushReceived
    | IssueChanged
    | CommentChanged
    | PullRequestChanged
    | ReviewChanged
    | ReviewRequested
    | ReleaseChanged,
) -> Omitted | UnsetType:
    return UNSET if event.omitted == Omitted() else event.omitted


def _notice(
    repository: Repository, event: str, payload: Payload, *, action: str = "", branch: str = ""
) -> Notice:
    return Notice(
        event=event,
        kind=kind_of(event, action),
        action=action,
        repository_id=repository.id,
        owner_id=repository.owner.id,
        branch=branch,
        payload=payload,
    )
