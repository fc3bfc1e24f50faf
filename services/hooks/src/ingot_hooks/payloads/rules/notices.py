"""Notices of events to hooks, one or more for each event, with Gitea's payload.

A payload is built only from the event, without a call to another service. ``secret`` is always empty:
signatures are in the headers. ``omitted`` is present if the event omits something.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.hooks.webhooks import (
    PARTS,
    ChangesPayload,
    CreatePayload,
    DeletePayload,
    ForkPayload,
    ImportPayload,
    IssueCommentPayload,
    IssuePayload,
    Payload,
    PullRequestPayload,
    PushPayload,
    ReleasePayload,
    RepositoryPayload,
    ReviewText,
    StatusPayload,
    WikiPayload,
)
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import (
    Changes,
    CommentChanged,
    IssueChanged,
    IssueChanges,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.issues.pulls import PullRequest, PullRequestBranch
from ingot_contracts.limits import Omitted
from ingot_contracts.repos.access import Permission
from ingot_contracts.repos.commits import NO_COMMIT, BranchTip, Commit
from ingot_contracts.repos.events import (
    ImportFinished,
    PushReceived,
    ReleaseChanged,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryForked,
    StatusCreated,
    WikiChanged,
)
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.payloads.rules.subscriptions import kind_of

MAX_COMMITS = 5
BRANCHES, TAGS = "refs/heads/", "refs/tags/"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice of an event for the hooks of a repository, and for the hooks of the organization ``owner_id``.

    Users and organizations never share an id, so ``owner_id`` finds no hooks if the owner is a user. ``kind``
    is the part of the family ``event``. Branch filters are matched with ``branch``, which is empty for a tag
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
    """Return the notices of a push.

    A new ref has `create` and `push`, a removed tag has `push` and `delete`, a removed branch has `delete`.
    """
    kind = "tag" if event.ref.startswith(TAGS) else "branch"
    short = event.ref.removeprefix(BRANCHES).removeprefix(TAGS)
    branch = short if kind == "branch" else ""
    repository, pusher = event.repository, event.pusher
    moved = PushPayload(
        secret="",
        ref=event.ref,
        before=event.before,
        after=event.after,
        compare_url=event.compare_url,
        commits=event.commits[:MAX_COMMITS],
        total_commits=event.total_commits,
        head_commit=_head_commit(event),
        repository=repository,
        pusher=pusher,
        sender=pusher,
        push_options=event.options or UNSET,
        omitted=_omitted(event),
    )
    notices = [_notice(repository, "push", moved, branch=branch)]
    if event.before == NO_COMMIT:
        created = CreatePayload(
            secret="", sha=event.after, ref=short, ref_type=kind, repository=repository, sender=pusher
        )
        notices.insert(0, _notice(repository, "create", created, branch=branch))
    if event.after == NO_COMMIT:
        removed = DeletePayload(
            secret="", ref=short, ref_type=kind, pusher_type="user", repository=repository, sender=pusher
        )
        notice = _notice(repository, "delete", removed, branch=branch)
        notices = [*notices, notice] if kind == "tag" else [notice]
    return notices


def _head_commit(event: PushReceived) -> Commit | None:
    """Return the commit at the ref; None for a deleted ref, or if the event omits the commit."""
    if event.head_commit is None and event.commits and event.commits[0].id == event.after:
        return event.commits[0]
    return event.head_commit


def notices_of_fork(event: RepositoryForked) -> list[Notice]:
    """Return the notice of a fork for the hooks of the original."""
    payload = ForkPayload(secret="", forkee=event.forkee, repository=event.repository, sender=event.sender)
    return [_notice(event.forkee, "fork", payload)]


def notices_of_repository(event: RepositoryCreated | RepositoryDeleted) -> list[Notice]:
    """Return the notice of a repository; none if a user owns it."""
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
        changes=_changes(event.changes),
        issue=event.issue,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "issues", payload, action=event.action)]


def notices_of_comment(event: CommentChanged) -> list[Notice]:
    """Return the notice of a comment.

    A comment on a line is a review comment. Its id is not an id of an `issue_comment`.
    """
    payload = IssueCommentPayload(
        secret="",
        action=event.action,
        issue=event.issue,
        pull_request=_pull_request(event),
        comment=event.comment,
        changes=_changes(event.changes),
        repository=event.repository,
        sender=event.sender,
        is_pull=event.is_pull,
        omitted=_omitted(event),
    )
    notice = _notice(event.repository, "issue_comment", payload, action=event.action)
    if event.on_line:
        part = _PARTS_BY_REVIEW["COMMENT"]
        return [msgspec.structs.replace(notice, event=part.header, kind=part.name)]
    return [msgspec.structs.replace(notice, kind="pull_request_comment")] if event.is_pull else [notice]


def _pull_request(event: CommentChanged) -> PullRequest | UnsetType:
    """Return the pull request of a comment, made from its part in the event and from the issue."""
    part, issue = event.pull_request, event.issue
    if part is None:
        return UNSET
    fields = {name: getattr(issue, name) for name in PullRequest.__struct_fields__ if hasattr(issue, name)}
    fields |= msgspec.structs.asdict(part)
    fields["base"] = PullRequestBranch(**msgspec.structs.asdict(part.base), repo=event.repository)
    if part.head.repo_id == part.base.repo_id:
        fields["head"] = msgspec.structs.replace(part.head, repo=event.repository)
    return PullRequest(**fields)


def notices_of_pull_request(event: PullRequestChanged) -> list[Notice]:
    payload = PullRequestPayload(
        secret="",
        action=event.action,
        number=event.pull_request.number,
        changes=_changes(event.changes),
        pull_request=event.pull_request,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
    )
    return [_notice(event.repository, "pull_request", payload, action=event.action)]


_PARTS_BY_REVIEW = {part.review: part for part in PARTS if part.review}
"""The part for each state of a submitted review."""


def notices_of_review(event: ReviewChanged) -> list[Notice]:
    """Return the notice of a submitted review; none for a dismissed or restored review."""
    part = _PARTS_BY_REVIEW.get(event.review.state)
    if event.action != "submitted" or part is None:
        return []
    payload = PullRequestPayload(
        secret="",
        action="reviewed",
        number=event.pull_request.number,
        pull_request=event.pull_request,
        repository=event.repository,
        sender=event.sender,
        review=ReviewText(type=part.name, content=event.review.body),
        omitted=_omitted(event),
    )
    notice = _notice(event.repository, "pull_request", payload, action="reviewed")
    return [msgspec.structs.replace(notice, event=part.header, kind=part.name)]


def notices_of_review_request(event: ReviewRequested) -> list[Notice]:
    action = "review_request_removed" if event.removed else "review_requested"
    payload = PullRequestPayload(
        secret="",
        action=action,
        number=event.pull_request.number,
        pull_request=event.pull_request,
        requested_reviewer=event.reviewer if event.team is None else None,
        requested_team=event.team or UNSET,
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
        commit=event.commit,
        repository=event.repository,
        sender=event.sender,
        omitted=_omitted(event),
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


def notices_of_wiki(event: WikiChanged) -> list[Notice]:
    """Return one notice per changed wiki page."""
    return [
        _notice(
            event.repository,
            "wiki",
            WikiPayload(
                secret="",
                action=change.action,
                repository=event.repository,
                sender=event.sender,
                page=change.page,
                comment=change.comment,
            ),
            action=change.action,
        )
        for change in event.pages
    ]


def notices_of_import(event: ImportFinished) -> list[Notice]:
    """Return the notice of the end of an import."""
    action = "failed" if event.reason else "finished"
    payload = ImportPayload(
        secret="",
        action=action,
        reason=event.reason,
        repeat=event.repeat,
        repository=event.repository,
        sender=event.sender or event.repository.owner,
    )
    return [_notice(event.repository, "import", payload, action=action)]


NOTICES_OF: Mapping[type, Callable[[Any], list[Notice]]] = {
    PushReceived: notices_of_push,
    RepositoryForked: notices_of_fork,
    RepositoryCreated: notices_of_repository,
    RepositoryDeleted: notices_of_repository,
    IssueChanged: notices_of_issue,
    CommentChanged: notices_of_comment,
    PullRequestChanged: notices_of_pull_request,
    ReviewChanged: notices_of_review,
    ReviewRequested: notices_of_review_request,
    StatusCreated: notices_of_status,
    ReleaseChanged: notices_of_release,
    WikiChanged: notices_of_wiki,
    ImportFinished: notices_of_import,
}


def example_repository(owner: User, public_url: str, at: datetime) -> Repository:
    """Return the example repository in the test delivery of an organization's hook. Its id is 0."""
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


def notice_of_test(repository: Repository, sender: User, tip: BranchTip, public_url: str) -> Notice:
    """Return a test push: the branch has the same commit before and after it.

    As in Gitea, the payload contains that commit. For a branch without commits it contains none.
    """
    commits = [tip.commit] if tip.commit is not None else []
    compared = f"{public_url}{repository.full_name}/compare/{tip.sha}...{tip.sha}"
    payload = PushPayload(
        secret="",
        ref=BRANCHES + tip.name,
        before=tip.sha,
        after=tip.sha,
        compare_url=compared if commits else "",
        commits=commits,
        total_commits=len(commits),
        head_commit=tip.commit,
        repository=repository,
        pusher=sender,
        sender=sender,
    )
    return _notice(repository, "push", payload)


def native(notice: Notice) -> bytes:
    """Return the payload as JSON text with Gitea's indentation."""
    return msgspec.json.format(msgspec.json.encode(notice.payload), indent=2)


def _changes(changes: Changes | None) -> ChangesPayload | UnsetType:
    if changes is None:
        return UNSET
    labels = changes if isinstance(changes, IssueChanges) else IssueChanges()
    return ChangesPayload(
        title=changes.title or UNSET,
        body=changes.body or UNSET,
        ref=changes.ref or UNSET,
        added_labels=labels.added_labels,
        removed_labels=labels.removed_labels,
    )


def _omitted(
    event: PushReceived
    | IssueChanged
    | CommentChanged
    | PullRequestChanged
    | ReviewChanged
    | ReviewRequested
    | StatusCreated
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
