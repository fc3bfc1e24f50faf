"""Gitea as a source, with Forgejo, Gogs and Ingot, which share its API.

https://docs.gitea.com/api. Gogs ignores ``type`` and lists pull requests with the issues; they are left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol, TypedDict, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
)
from ingot_repos.imports.clients.http import SourceHttp
from ingot_repos.imports.clients.source import Kind, PersonKey, SourceFailed, SourcePage

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
MOST_OBJECTS = 1_000
"""Limit of objects of one page: some sources ignore the size of pages."""
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The creation of milestones of Gogs, which has no times of them."""
_T = TypeVar("_T")


NOTHING = msgspec.Raw(b"null")
_Id = Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)]
"""The ghost of Gitea has the id -1."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Sha = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")]
_Number = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _User(msgspec.Struct):
    id: _Id = 0
    login: str = ""
    email: str | None = ""


class _Label(msgspec.Struct):
    id: _Id
    name: str
    color: str = ""
    description: str | None = ""
    exclusive: bool = False
    is_archived: bool = False


class _Milestone(msgspec.Struct):
    id: _Id
    title: str
    description: str | None = ""
    state: str = "open"
    due_on: datetime | None = None
    closed_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class _Issue(msgspec.Struct):
    id: _Id
    number: _Number
    title: str
    created_at: datetime
    updated_at: datetime
    user: _User | None = None
    original_author: str | None = ""
    original_author_id: _Id | None = 0
    body: str | None = ""
    ref: str | None = ""
    labels: list[_Label] | None = None
    milestone: _Milestone | None = None
    assignees: list[_User] | None = None
    state: str = "open"
    is_locked: bool = False
    pin_order: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = 0
    due_date: datetime | None = None
    closed_at: datetime | None = None
    pull_request: msgspec.Raw = NOTHING


class _Branch(msgspec.Struct):
    ref: str
    sha: _Sha = ""
    repo_id: _Id = 0


class _Pull(_Issue, kw_only=True):
    base: _Branch
    head: _Branch
    merge_base: _Sha | None = None
    merged: bool = False
    merged_at: datetime | None = None
    merged_by: _User | None = None
    merge_commit_sha: _Sha | None = None
    allow_maintainer_edit: bool = False
    additions: _Count | None = None
    deletions: _Count | None = None
    changed_files: _Count | None = None


class _Comment(msgspec.Struct):
    id: _Id
    created_at: datetime
    updated_at: datetime
    user: _User | None = None
    original_author: str | None = ""
    original_author_id: _Id | None = 0
    body: str | None = ""
    issue_url: str | None = ""
    pull_request_url: str | None = ""


class _Listed(Protocol):
    @property
    def id(self) -> int: ...


class _Size(TypedDict):
    """Fields of ``SourcePage``."""

    size: int
    first: int
    total: int | None


_PATHS: Mapping[Kind, str] = {
    "labels": "/labels",
    "milestones": "/milestones",
    "issues": "/issues",
    "pulls": "/pulls",
    "comments": "/issues/comments",
}
_QUERIES: Mapping[Kind, Mapping[str, str | int]] = {
    "labels": {},
    "milestones": {"state": "all"},
    "issues": {"state": "all", "type": "issues", "sort": "oldest"},
    "pulls": {"state": "all", "sort": "oldest"},
    "comments": {},
}


class GiteaRepository:
    """A repository of a Gitea. ``path`` is below the root of the API."""

    def __init__(self, http: SourceHttp, owner: str, name: str) -> None:
        self._http = http
        self._path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, which only Gogs does not say. Raises SourceFailed, SourceBusy."""
        _, total = await self._read(kind, 1, list[msgspec.Raw], size=1)
        return total

    async def page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page. Raises SourceFailed, SourceBusy."""
        if kind == "labels":
            labels, total = await self._read(kind, number, list[_Label])
            return SourcePage(**_size(labels, total), labels=[_label(one) for one in labels])
        if kind == "milestones":
            milestones, total = await self._read(kind, number, list[_Milestone])
            return SourcePage(**_size(milestones, total), milestones=[_milestone(one) for one in milestones])
        if kind == "issues":
            issues, total = await self._read(kind, number, list[_Issue])
            plain = [one for one in issues if one.pull_request == NOTHING]
            users = [user for one in plain for user in (one.user, *(one.assignees or ()))]
            return SourcePage(
                **_size(issues, total), addresses=_addresses(users), issues=[_issue(one) for one in plain]
            )
        if kind == "pulls":
            pulls, total = await self._read(kind, number, list[_Pull])
            users = [user for one in pulls for user in (one.user, one.merged_by, *(one.assignees or ()))]
            return SourcePage(
                **_size(pulls, total), addresses=_addresses(users), pulls=[_pull(one) for one in pulls]
            )
        comments, total = await self._read(kind, number, list[_Comment])
        return SourcePage(
            **_size(comments, total),
            addresses=_addresses(one.user for one in comments),
            comments=[_comment(one) for one in comments],
        )

    async def _read(
        self, kind: Kind, number: int, answer: type[list[_T]], *, size: int = PAGE_SIZE
    ) -> tuple[list[_T], int | None]:
        """Return the objects of a page, and how many there are in all if the source says so."""
        query = {**_QUERIES[kind], "page": number, "limit": size}
        items, headers = await self._http.get(self._path + _PATHS[kind], query, answer)
        if len(items) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        total = headers.get("X-Total-Count", "")
        return items, int(total) if re.fullmatch("[0-9]{1,9}", total) else None


def api_root(clone_url: str) -> tuple[str, str, str]:
    """Return the root of the API, the owner and the name for the URL of a repository.

    Raises SourceFailed if the path does not end with an owner and a name.
    """
    parts = urlsplit(clone_url)
    segments = parts.path.strip("/").removesuffix(".git").split("/")
    if parts.scheme not in ("http", "https") or len(segments) < 2 or not all(segments):
        raise SourceFailed("not-found")
    *prefix, owner, name = segments
    return f"{parts.scheme}://{parts.netloc}{''.join(f'/{one}' for one in prefix)}/api/v1", owner, name


def _size(items: Sequence[_Listed], total: int | None) -> _Size:
    return {"size": len(items), "first": items[0].id if items else 0, "total": total}


def _addresses(users: Iterable[_User | None]) -> dict[PersonKey, str]:
    return {(user.id, user.login): user.email or "" for user in users if user is not None and user.id > 0}


def _person(user: _User | None, original: str | None = "", original_id: int | None = 0) -> ImportedPerson:
    """Return a person. A text that was imported into the source keeps the name that it has there."""
    if original:
        return ImportedPerson(name=original, source_id=original_id or 0)
    return ImportedPerson(name=user.login, source_id=user.id) if user else ImportedPerson()


def _label(label: _Label) -> ImportedLabel:
    return ImportedLabel(
        source_id=label.id,
        name=label.name,
        color=label.color,
        description=label.description or "",
        exclusive=label.exclusive,
        is_archived=label.is_archived,
    )


def _milestone(milestone: _Milestone) -> ImportedMilestone:
    created_at = milestone.created_at or milestone.updated_at or milestone.closed_at or _NO_TIME
    return ImportedMilestone(
        source_id=milestone.id,
        title=milestone.title,
        description=milestone.description or "",
        state="closed" if milestone.state == "closed" else "open",
        due_on=milestone.due_on,
        closed_at=milestone.closed_at,
        created_at=created_at,
        updated_at=milestone.updated_at or created_at,
    )


def _issue(issue: _Issue) -> ImportedIssue:
    return ImportedIssue(**_fields(issue))


def _pull(pull: _Pull) -> ImportedPull:
    base_sha = pull.merge_base or pull.base.sha
    return ImportedPull(
        **_fields(pull),
        base_branch=pull.base.ref,
        base_sha=pull.base.sha or base_sha,
        head_branch=pull.head.ref,
        head_sha=pull.head.sha or base_sha,
        merge_base=base_sha,
        is_from_base=pull.head.repo_id == pull.base.repo_id,
        merged=pull.merged,
        merged_at=(pull.merged_at or pull.closed_at or pull.updated_at) if pull.merged else None,
        merged_by=_person(pull.merged_by) if pull.merged else None,
        merge_sha=(pull.merge_commit_sha or None) if pull.merged else None,
        allow_maintainer_edit=pull.allow_maintainer_edit,
        additions=pull.additions,
        deletions=pull.deletions,
        changed_files=pull.changed_files,
    )


def _fields(issue: _Issue) -> dict[str, Any]:
    """Return the fields that issues and pull requests have in common."""
    return {
        "source_id": issue.id,
        "number": issue.number,
        "author": _person(issue.user, issue.original_author, issue.original_author_id),
        "title": issue.title,
        "body": issue.body or "",
        "state": "closed" if issue.state == "closed" else "open",
        "ref": issue.ref or "",
        "labels": [label.id for label in issue.labels or []],
        "milestone": issue.milestone.id if issue.milestone else 0,
        "assignees": [_person(user) for user in issue.assignees or []],
        "is_locked": issue.is_locked,
        "pin_order": issue.pin_order or 0,
        "due_date": issue.due_date,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
    }


def _comment(comment: _Comment) -> ImportedComment:
    number = urlsplit(comment.issue_url or comment.pull_request_url or "").path.rpartition("/")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise SourceFailed("forge-answer")
    return ImportedComment(
        source_id=comment.id,
        number=int(number),
        author=_person(comment.user, comment.original_author, comment.original_author_id),
        body=comment.body or "",
        created_at=comment.created_at,
        updated_at=comment.updated_at,
    )
