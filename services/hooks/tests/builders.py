"""Builders of events, and of the bodies of requests."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import (
    ChangedText,
    CommentChanged,
    IssueChanged,
    IssueChanges,
    PullRequestChanged,
    PullRequestPart,
)
from ingot_contracts.issues.issues import Comment, Issue
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.pulls import BaseBranch, PullRequest, PullRequestBranch
from ingot_contracts.repos.commits import NO_COMMIT, Commit, CommitAuthor, CommitStatus
from ingot_contracts.repos.events import (
    ImportFinished,
    PushReceived,
    ReleaseChanged,
    RepositoryCreated,
    RepositoryForked,
    StatusCreated,
    WikiChanged,
    WikiPageChange,
)
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository

THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
OLD, NEW = "a" * 40, "b" * 40
ANN = User(id=1, login="ann", full_name="Ann", email="ann@example.org")
ACME = User(id=50, login="acme")


def repository(id_: int = 7, *, owner: User = ANN, name: str = "app", private: bool = False) -> Repository:
    return Repository(
        id=id_,
        owner=owner,
        name=name,
        full_name=f"{owner.login}/{name}",
        private=private,
        html_url=f"http://forge/{owner.login}/{name}",
        default_branch="main",
        created_at=THEN,
        updated_at=THEN,
    )


def commit(message: str = "change", id_: str = NEW) -> Commit:
    author = CommitAuthor(name="Ann", email="ann@example.org", username="ann")
    return Commit(
        id=id_,
        message=message,
        url=f"http://forge/c/{id_}",
        author=author,
        committer=author,
        timestamp=THEN,
        modified=["README.md"],
    )


def push(
    *,
    ref: str = "refs/heads/main",
    before: str = OLD,
    after: str = NEW,
    target: Repository | None = None,
    commits: int = 1,
) -> PushReceived:
    target = target or repository()
    return PushReceived(
        repository=target,
        pusher=ANN,
        ref=ref,
        before=before,
        after=after,
        compare_url=f"http://forge/{target.full_name}/compare",
        commits=[commit() for _ in range(commits)],
        total_commits=commits,
    )


def status(state: Any = "failure") -> StatusCreated:
    commit_status = CommitStatus(
        id=1,
        status=state,
        url="http://forge/s",
        target_url="http://ci/1",
        description="it <burns>",
        context="ci/build",
        creator=ANN,
        created_at=THEN,
        updated_at=THEN,
    )
    return StatusCreated(repository=repository(), sender=ANN, sha=NEW, commit=commit(), status=commit_status)


def release(action: Any = "published") -> ReleaseChanged:
    new_release = Release(
        id=5,
        tag_name="v1.0",
        name="The <first>",
        body="what is new",
        url="http://forge/api/r",
        html_url="http://forge/r",
        created_at=THEN,
        published_at=THEN,
        author=ANN,
    )
    return ReleaseChanged(action=action, repository=repository(), sender=ANN, release=new_release)


def issue(number: int = 3) -> Issue:
    return Issue(
        id=30,
        url="http://forge/i",
        number=number,
        user=ANN,
        title="It <burns>",
        body="all of it",
        labels=[Label(id=1, name="bug", color="ee0701")],
        milestone=Milestone(id=2, title="1.0", due_on=THEN),
        assignee=ANN,
        assignees=[ANN],
        created_at=THEN,
        updated_at=THEN,
    )


def comment() -> Comment:
    return Comment(
        id=40, html_url="http://forge/i#1", user=ANN, body="me too", created_at=THEN, updated_at=THEN
    )


def pull_request(number: int = 4) -> PullRequest:
    side = PullRequestBranch(label="main", ref="main", sha=NEW, repo_id=7, repo=repository())
    return PullRequest(
        id=60,
        url="http://forge/p",
        html_url="http://forge/p",
        number=number,
        user=ANN,
        title="Fix",
        state="closed",
        merged=True,
        merged_at=THEN,
        merge_commit_sha=NEW,
        merged_by=ANN,
        base=side,
        head=side,
    )


def pull_request_part() -> PullRequestPart:
    """Return what the issue of ``pull_request`` lacks, as in events of comments."""
    pull = pull_request()
    fields = {name: getattr(pull, name) for name in PullRequestPart.__struct_fields__}
    base = {name: getattr(pull.base, name) for name in BaseBranch.__struct_fields__}
    sides = {"base": BaseBranch(**base), "head": msgspec.structs.replace(pull.head, repo=None)}
    return PullRequestPart(**fields | sides)


CHANGED: Any = {
    "action": "edited",
    "changes": IssueChanges(title=ChangedText("before")),
    "repository": repository(),
    "sender": ANN,
}

EVENTS_BY_NAME: dict[str, msgspec.Struct] = {
    "create": push(before=NO_COMMIT),
    "push": push(before=NO_COMMIT),
    "pull_request": PullRequestChanged(pull_request=pull_request(), **CHANGED),
    "delete": push(after=NO_COMMIT, commits=0),
    "fork": RepositoryForked(forkee=repository(), repository=repository(9, name="fork"), sender=ANN),
    "issues": IssueChanged(issue=issue(), **CHANGED),
    "issue_comment": CommentChanged(issue=issue(), comment=comment(), **CHANGED),
    "repository": RepositoryCreated(repository=repository(owner=ACME), sender=ANN, owner_kind="organization"),
    "release": release(),
    "status": status(),
    "wiki": WikiChanged(
        repository=repository(),
        sender=ANN,
        pages=[WikiPageChange(action="edited", page="Read-<me>", comment="say more\n")],
    ),
    "import": ImportFinished(
        repository=repository(), requested_by=1, reason="unreachable", sender=ANN, repeat=2
    ),
}
"""An event for each family of events of hooks."""


def config(url: str = "http://ci.example.org/hook", **fields: Any) -> dict[str, Any]:
    return {"url": url, "content_type": "json", **fields}


def hook(url: str = "http://ci.example.org/hook", *, events: Any = None, **fields: Any) -> dict[str, Any]:
    """The body that creates an active hook."""
    body = {"type": "gitea", "active": True, "config": config(url), **fields}
    return body if events is None else body | {"events": events}
