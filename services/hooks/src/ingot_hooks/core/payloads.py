"""What is sent: events become notices, each with the payload that receivers know, in its order of fields.

Made from the event alone, so nobody is called back. ``secret`` stays empty: signatures are in the headers.
"""

from datetime import datetime
from typing import Any

import msgspec

from ingot_contracts.identity import User
from ingot_contracts.issues import (
    Changes,
    Comment,
    CommentChanged,
    Issue,
    IssueChanged,
    PullRequest,
    PullRequestChanged,
)
from ingot_contracts.repos import (
    NO_COMMIT,
    Commit,
    Permission,
    PushReceived,
    Release,
    ReleaseChanged,
    Repository,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryForked,
    StatusCreated,
)
from ingot_hooks.core.subscriptions import kind_of

MOST_COMMITS = 5
BRANCHES, TAGS = "refs/heads/", "refs/tags/"


class CreatePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    sha: str
    ref: str
    ref_type: str
    repository: Repository
    sender: User


class PushPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    ref: str
    before: str
    after: str
    compare_url: str
    commits: list[Commit]
    repository: Repository
    pusher: User
    sender: User


class DeletePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    ref: str
    ref_type: str
    pusher_type: str
    repository: Repository
    sender: User


class ForkPayload(msgspec.Struct, frozen=True, kw_only=True):
    """``forkee`` is the original."""

    secret: str
    forkee: Repository
    repository: Repository
    sender: User


class RepositoryPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    repository: Repository
    organization: User
    sender: User


class IssuePayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    secret: str
    action: str
    number: int
    changes: Changes | None = None
    issue: Issue
    repository: Repository
    sender: User


class IssueCommentPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    secret: str
    action: str
    issue: Issue
    comment: Comment
    changes: Changes | None = None
    repository: Repository
    sender: User
    is_pull: bool


class PullRequestPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    secret: str
    action: str
    number: int
    changes: Changes | None = None
    pull_request: PullRequest
    repository: Repository
    sender: User


class StatusPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    id: int
    sha: str
    state: str
    context: str
    description: str
    target_url: str
    created_at: datetime
    updated_at: datetime
    repository: Repository
    sender: User


class ReleasePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    release: Release
    repository: Repository
    sender: User


Payload = (
    CreatePayload
    | PushPayload
    | DeletePayload
    | ForkPayload
    | RepositoryPayload
    | IssuePayload
    | IssueCommentPayload
    | PullRequestPayload
    | StatusPayload
    | ReleasePayload
)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to tell hooks: those of the repository, and those of ``owner_id`` if that is an organization.

    Users and organizations share their ids, so the owner's id finds no hook when the owner is a person.
    ``kind`` is the part of the family ``event``. ``branch`` is what the filter of a hook is held against, empty for tags and whatever has no branch.
    """

    event: str
    kind: str
    action: str = ""
    repository_id: int
    owner_id: int
    branch: str = ""
    payload: Payload


def notices_of_push(event: PushReceived) -> list[Notice]:
    """A new ref is told before the push, a removed one after it."""
    kind = "tag" if event.ref.startswith(TAGS) else "branch"
    short = event.ref.removeprefix(BRANCHES).removeprefix(TAGS)
    branch = short if kind == "branch" else ""
    repository, pusher = event.repository, event.pusher
    notices = [
        _about(
            repository,
            "push",
            PushPayload(
                secret="",
                ref=event.ref,
                before=event.before,
                after=event.after,
                compare_url=event.compare_url,
                commits=event.commits[:MOST_COMMITS],
                repository=repository,
                pusher=pusher,
                sender=pusher,
            ),
            branch=branch,
        )
    ]
    if event.before == NO_COMMIT:
        created = CreatePayload(
            secret="", sha=event.after, ref=short, ref_type=kind, repository=repository, sender=pusher
        )
        notices.insert(0, _about(repository, "create", created, branch=branch))
    if event.after == NO_COMMIT:
        removed = DeletePayload(
            secret="", ref=short, ref_type=kind, pusher_type="user", repository=repository, sender=pusher
        )
        notices.append(_about(repository, "delete", removed, branch=branch))
    return notices


def notices_of_fork(event: RepositoryForked) -> list[Notice]:
    """Told to the hooks of the original."""
    payload = ForkPayload(secret="", forkee=event.forkee, repository=event.repository, sender=event.sender)
    return [_about(event.forkee, "fork", payload)]


def notices_of_repository(event: RepositoryCreated | RepositoryDeleted) -> list[Notice]:
    """Told for the repositories of organizations only."""
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
    return [_about(event.repository, "repository", payload, action=action)]


def notices_of_issue(event: IssueChanged) -> list[Notice]:
    payload = IssuePayload(
        secret="",
        action=event.action,
        number=event.issue.number,
        changes=event.changes,
        issue=event.issue,
        repository=event.repository,
        sender=event.sender,
    )
    return [_about(event.repository, "issues", payload, action=event.action)]


def notices_of_comment(event: CommentChanged) -> list[Notice]:
    payload = IssueCommentPayload(
        secret="",
        action=event.action,
        issue=event.issue,
        comment=event.comment,
        changes=event.changes,
        repository=event.repository,
        sender=event.sender,
        is_pull=event.is_pull,
    )
    notice = _about(event.repository, "issue_comment", payload, action=event.action)
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
    )
    return [_about(event.repository, "pull_request", payload, action=event.action)]


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
    return [_about(event.repository, "status", payload)]


def notices_of_release(event: ReleaseChanged) -> list[Notice]:
    payload = ReleasePayload(
        secret="",
        action=event.action,
        release=event.release,
        repository=event.repository,
        sender=event.sender,
    )
    return [_about(event.repository, "release", payload, action=event.action)]


def example_repository(owner: User, public_url: str, at: datetime) -> Repository:
    """Stands in the test of a hook that belongs to no one repository; there is none with its id."""
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


def notice_of_test(repository: Repository, sender: User, sha: str) -> Notice:
    """A push that did not happen: the default branch stays at ``sha``."""
    payload = PushPayload(
        secret="",
        ref=BRANCHES + repository.default_branch,
        before=sha,
        after=sha,
        compare_url="",
        commits=[],
        repository=repository,
        pusher=sender,
        sender=sender,
    )
    return _about(repository, "push", payload)


def native(notice: Notice) -> bytes:
    """The payload as JSON text, indented as receivers have always seen it."""
    return msgspec.json.format(msgspec.json.encode(notice.payload), indent=2)


def _about(repository: Repository, event: str, payload: Any, *, action: str = "", branch: str = "") -> Notice:
    return Notice(
        event=event,
        kind=kind_of(event, action),
        action=action,
        repository_id=repository.id,
        owner_id=repository.owner.id,
        branch=branch,
        payload=payload,
    )
