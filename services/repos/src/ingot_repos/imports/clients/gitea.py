"""Gitea as a source, with Forgejo, Gogs and Ingot, which share its API.

https://docs.gitea.com/api. Gogs ignores ``type`` and lists pull requests with the issues; they are left out.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol, TypedDict, TypeVar, cast
from urllib.parse import quote, urlsplit

import msgspec

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedReviewState,
    ImportedTime,
)
from ingot_repos.imports.clients.http import SourceHttp
from ingot_repos.imports.clients.source import (
    ABSENT,
    Kind,
    PersonKey,
    SourceAsset,
    SourceFailed,
    SourcePage,
    SourceRelease,
)

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
DETAILED_PAGE_SIZE = 10
"""Objects of a page that need further requests each: pull requests, and issues for their dependencies."""
REQUESTS_AT_ONCE = 4
MOST_INNER_PAGES = 100
"""Limit of pages about one issue or pull request."""
MOST_OBJECTS = 1_000
"""Limit of objects of one page: some sources ignore the size of pages."""
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The creation of milestones of Gogs, which has no times of them."""
_T = TypeVar("_T")


OPTIONAL: tuple[Kind, ...] = ("times", "dependencies", "releases")
STATES: Mapping[str, ImportedReviewState] = {
    "APPROVED": "APPROVED",
    "COMMENT": "COMMENT",
    "REQUEST_CHANGES": "REQUEST_CHANGES",
}
"""Reviews to import. Others are requests for reviews, and pending ones of the owner of the token."""
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


class _Reaction(msgspec.Struct):
    content: str
    created_at: datetime
    user: _User | None = None


class _Review(msgspec.Struct):
    id: _Id
    state: str
    submitted_at: datetime
    updated_at: datetime | None = None
    user: _User | None = None
    original_author: str | None = ""
    original_author_id: _Id | None = 0
    body: str | None = ""
    commit_id: _Sha | None = ""
    dismissed: bool = False
    comments_count: _Count = 0


class _LineComment(msgspec.Struct):
    id: _Id
    path: str
    created_at: datetime
    updated_at: datetime
    user: _User | None = None
    resolver: _User | None = None
    original_author: str | None = ""
    original_author_id: _Id | None = 0
    body: str | None = ""
    position: _Count | None = 0
    original_position: _Count | None = 0
    commit_id: _Sha | None = ""
    original_commit_id: _Sha | None = ""
    diff_hunk: str | None = ""


class _NumberedIssue(msgspec.Struct):
    number: _Number
    id: _Id = 0
    repository: "_RepositoryName | None" = None


class _RepositoryName(msgspec.Struct):
    full_name: str = ""


class _Time(msgspec.Struct):
    id: _Id
    created: datetime
    time: _Count
    issue: _NumberedIssue
    user_id: _Id = 0
    user_name: str = ""


class _Topics(msgspec.Struct):
    topics: list[str] | None = None


class _Asset(msgspec.Struct):
    name: str
    browser_download_url: str
    created_at: datetime
    size: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class _Release(msgspec.Struct):
    id: _Id
    tag_name: str
    created_at: datetime
    published_at: datetime | None = None
    target_commitish: str | None = ""
    name: str | None = ""
    body: str | None = ""
    draft: bool = False
    prerelease: bool = False
    author: _User | None = None
    original_author: str | None = ""
    original_author_id: _Id | None = 0
    assets: list[_Asset] | None = None


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
    "times": "/times",
    "dependencies": "/issues",
    "releases": "/releases",
}
_QUERIES: Mapping[Kind, Mapping[str, str | int]] = {
    "labels": {},
    "milestones": {"state": "all"},
    "issues": {"state": "all", "type": "issues", "sort": "oldest"},
    "pulls": {"state": "all", "sort": "oldest"},
    "comments": {},
    "times": {},
    "dependencies": {"state": "all", "sort": "oldest"},
    "releases": {},
}
_SIZES: Mapping[Kind, int] = {"pulls": DETAILED_PAGE_SIZE, "dependencies": DETAILED_PAGE_SIZE}


class GiteaRepository:
    """A repository of a Gitea. ``path`` is below the root of the API."""

    def __init__(self, http: SourceHttp, owner: str, name: str, *, is_gogs: bool = False) -> None:
        self._http, self._is_gogs = http, is_gogs
        self._full_name = f"{owner}/{name}"
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    async def topics(self) -> list[str]:
        """Return the topics; none of a Gogs, which has no topics."""
        if self._is_gogs:
            return []
        try:
            answer, _ = await self._http.get(f"{self._path}/topics", {}, _Topics)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return []
        return answer.topics or []

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open an asset of a release. Raises SourceFailed, SourceBusy."""
        return self._http.open_file(url)

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, which only Gogs does not say. Raises SourceFailed, SourceBusy."""
        if kind not in OPTIONAL:
            return (await self._read(kind, 1, list[msgspec.Raw], size=1))[1]
        if self._is_gogs:
            return 0
        try:
            return (await self._read(kind, 1, list[msgspec.Raw], size=1))[1]
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return 0

    async def page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page. Raises SourceFailed, SourceBusy."""
        if kind in OPTIONAL:
            return await self._optional_page(kind, number)
        if kind == "labels":
            labels, total = await self._read(kind, number, list[_Label])
            return SourcePage(**_size(labels, total), labels=[_label(one) for one in labels])
        if kind == "milestones":
            milestones, total = await self._read(kind, number, list[_Milestone])
            return SourcePage(**_size(milestones, total), milestones=[_milestone(one) for one in milestones])
        if kind == "issues":
            issues, total = await self._read(kind, number, list[_Issue])
            plain = [one for one in issues if one.pull_request == NOTHING]
            reactions = await self._each([self._reactions(f"/issues/{one.number}") for one in plain])
            users = [user for one in plain for user in (one.user, *(one.assignees or ()))]
            users += [one.user for group in reactions for one in group]
            return SourcePage(
                **_size(issues, total),
                addresses=_addresses(users),
                issues=[_issue(one, group) for one, group in zip(plain, reactions, strict=True)],
            )
        if kind == "pulls":
            pulls, total = await self._read(kind, number, list[_Pull])
            details = await self._each([self._details(one) for one in pulls])
            users = [user for one in pulls for user in (one.user, one.merged_by, *(one.assignees or ()))]
            users += [user for one in details for user in one.users()]
            pairs = [*zip(pulls, details, strict=True)]
            return SourcePage(
                **_size(pulls, total),
                addresses=_addresses(users),
                pulls=[_pull(pull, one) for pull, one in pairs],
                comments=[
                    _comment(text, group, pull.number)
                    for pull, one in pairs
                    for text, group in zip(one.comments, one.reactions_to_comments, strict=True)
                ],
            )
        comments, total = await self._read(kind, number, list[_Comment])
        reactions = await self._each([self._reactions(f"/issues/comments/{one.id}") for one in comments])
        users = [one.user for one in comments]
        users += [one.user for group in reactions for one in group]
        return SourcePage(
            **_size(comments, total),
            addresses=_addresses(users),
            comments=[_comment(one, group) for one, group in zip(comments, reactions, strict=True)],
        )

    async def _optional_page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page of data that the source may not have, or hide from the owner of the token."""
        if self._is_gogs:
            return SourcePage(size=0)
        try:
            if kind == "times":
                return await self._times(number)
            if kind == "releases":
                releases, total = await self._read(kind, number, list[_Release])
                addresses = _addresses(one.author for one in releases)
                converted = [_release(one) for one in releases]
                return SourcePage(**_size(releases, total), addresses=addresses, releases=converted)
            return await self._dependencies(number)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return SourcePage(size=0)

    async def _times(self, number: int) -> SourcePage:
        times, total = await self._read("times", number, list[_Time])
        names = {one.user_name: one.user_id for one in times if one.user_name and one.user_id > 0}
        addresses = await self._each([self._address(name) for name in names])
        return SourcePage(
            **_size(times, total),
            addresses={(names[name], name): address for name, address in zip(names, addresses, strict=True)},
            times=[_time(one) for one in times],
        )

    async def _dependencies(self, number: int) -> SourcePage:
        numbered, total = await self._read("dependencies", number, list[_NumberedIssue])
        blockers = await self._each([self._blockers(one.number) for one in numbered])
        return SourcePage(
            **_size(numbered, total),
            dependencies=[
                ImportedDependency(number=one.number, blocker=blocker)
                for one, group in zip(numbered, blockers, strict=True)
                for blocker in group
            ],
        )

    async def _address(self, login: str) -> str:
        """Return the address that a user shows."""
        try:
            async with self._slots:
                user, _ = await self._http.get(f"/users/{quote(login, safe='')}", {}, _User)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return ""
        return user.email or ""

    async def _each(self, requests: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
        """Return the answers in order. The first failure ends the other requests."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one) for one in requests]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _details(self, pull: _Pull) -> "_Details":
        """Return what belongs to a pull request."""
        if self._is_gogs:
            return _Details()
        issue = f"/issues/{pull.number}"
        comments = await self._all(f"{issue}/comments", list[_Comment])
        reviews = await self._all(f"/pulls/{pull.number}/reviews", list[_Review])
        return _Details(
            reactions=await self._reactions(issue),
            comments=comments,
            reactions_to_comments=[await self._reactions(f"/issues/comments/{one.id}") for one in comments],
            reviews=reviews,
            line_comments=[
                await self._all(f"/pulls/{pull.number}/reviews/{one.id}/comments", list[_LineComment])
                if one.comments_count and one.state in STATES
                else []
                for one in reviews
            ],
        )

    async def _reactions(self, path: str) -> list[_Reaction]:
        if self._is_gogs:
            return []
        return await self._all(f"{path}/reactions", list[_Reaction])

    async def _blockers(self, number: int) -> list[int]:
        """Return the issues of this repository that block an issue."""
        blockers = await self._all(f"/issues/{number}/dependencies", list[_NumberedIssue])
        return [
            one.number
            for one in blockers
            if one.repository is None or one.repository.full_name.lower() == self._full_name.lower()
        ]

    async def _all(self, path: str, answer: type[list[_T]]) -> list[_T]:
        """Return the objects of all pages. Some sources answer every page with all of them."""
        items: list[_T] = []
        for number in range(1, MOST_INNER_PAGES + 1):
            query: dict[str, str | int] = {"page": number, "limit": PAGE_SIZE}
            async with self._slots:
                page, _ = await self._http.get(self._path + path, query, _or_null(answer))
            if not page or page[0] in items[:1]:
                return items
            items += page
            if len(page) < PAGE_SIZE:
                return items
        raise SourceFailed("too-large")

    async def _read(
        self, kind: Kind, number: int, answer: type[list[_T]], *, size: int = 0
    ) -> tuple[list[_T], int | None]:
        """Return the objects of a page, and how many there are in all if the source says so."""
        query = {**_QUERIES[kind], "page": number, "limit": size or _SIZES.get(kind, PAGE_SIZE)}
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


def _or_null(answer: type[_T]) -> type[_T | None]:
    """Return the type of an answer that Gitea spells null if it is empty."""
    return cast("type[_T | None]", answer | None)


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


class _Details(msgspec.Struct, frozen=True):
    """What belongs to a pull request. The lists of lists are in the order of comments and of reviews."""

    reactions: list[_Reaction] = []
    comments: list[_Comment] = []
    reactions_to_comments: list[list[_Reaction]] = []
    reviews: list[_Review] = []
    line_comments: list[list[_LineComment]] = []

    def users(self) -> list[_User | None]:
        reactions = [*self.reactions, *(one for group in self.reactions_to_comments for one in group)]
        lines = [one for group in self.line_comments for one in group]
        users = [one.user for one in reactions]
        users += [one.user for one in self.comments]
        users += [one.user for one in self.reviews]
        users += [user for one in lines for user in (one.user, one.resolver)]
        return users


def _issue(issue: _Issue, reactions: Sequence[_Reaction]) -> ImportedIssue:
    return ImportedIssue(**_fields(issue, reactions))


def _pull(pull: _Pull, details: _Details) -> ImportedPull:
    base_sha = pull.merge_base or pull.base.sha
    head_sha = pull.head.sha or base_sha
    return ImportedPull(
        **_fields(pull, details.reactions),
        reviews=[
            _review(review, group, head_sha)
            for review, group in zip(details.reviews, details.line_comments, strict=True)
            if review.state in STATES
        ],
        requests=[
            ImportedRequest(
                reviewer=_person(review.user),
                commit_sha=review.commit_id or head_sha,
                created_at=review.submitted_at,
            )
            for review in details.reviews
            if review.state == "REQUEST_REVIEW" and review.user is not None
        ],
        base_branch=pull.base.ref,
        base_sha=pull.base.sha or base_sha,
        head_branch=pull.head.ref,
        head_sha=head_sha,
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


def _review(review: _Review, comments: Sequence[_LineComment], head_sha: str) -> ImportedReview:
    commit_sha = review.commit_id or head_sha
    return ImportedReview(
        source_id=review.id,
        author=_person(review.user, review.original_author, review.original_author_id),
        state=STATES[review.state],
        body=review.body or "",
        commit_sha=commit_sha,
        dismissed=review.dismissed,
        submitted_at=review.submitted_at,
        updated_at=review.updated_at or review.submitted_at,
        comments=[_line_comment(one, commit_sha) for one in comments],
    )


def _line_comment(comment: _LineComment, commit_sha: str) -> ImportedLineComment:
    return ImportedLineComment(
        author=_person(comment.user, comment.original_author, comment.original_author_id),
        body=comment.body or "",
        path=comment.path,
        old_position=comment.original_position or 0,
        new_position=comment.position or 0,
        commit_sha=comment.commit_id or comment.original_commit_id or commit_sha,
        diff_hunk=comment.diff_hunk or "",
        resolver=_person(comment.resolver) if comment.resolver is not None else None,
        created_at=comment.created_at,
        updated_at=comment.updated_at,
    )


def _release(release: _Release) -> SourceRelease:
    return SourceRelease(
        author=_person(release.author, release.original_author, release.original_author_id),
        tag_name=release.tag_name,
        target=release.target_commitish or "",
        name=release.name or "",
        body=release.body or "",
        draft=release.draft,
        prerelease=release.prerelease,
        created_at=release.created_at,
        published_at=release.published_at,
        assets=[
            SourceAsset(name=one.name, url=one.browser_download_url, size=one.size, created_at=one.created_at)
            for one in release.assets or []
        ],
    )


def _reaction(reaction: _Reaction) -> ImportedReaction:
    return ImportedReaction(
        author=_person(reaction.user), content=reaction.content, created_at=reaction.created_at
    )


def _time(time: _Time) -> ImportedTime:
    return ImportedTime(
        source_id=time.id,
        number=time.issue.number,
        author=ImportedPerson(name=time.user_name, source_id=time.user_id),
        seconds=time.time,
        created_at=time.created,
    )


def _fields(issue: _Issue, reactions: Sequence[_Reaction]) -> dict[str, Any]:
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
        "reactions": [_reaction(one) for one in reactions],
    }


def _comment(comment: _Comment, reactions: Sequence[_Reaction], number: int = 0) -> ImportedComment:
    return ImportedComment(
        source_id=comment.id,
        number=number or _number_of(comment),
        author=_person(comment.user, comment.original_author, comment.original_author_id),
        body=comment.body or "",
        created_at=comment.created_at,
        updated_at=comment.updated_at,
        reactions=[_reaction(one) for one in reactions],
    )


def _number_of(comment: _Comment) -> int:
    """Return the number of the issue that has a comment. Raises SourceFailed."""
    number = urlsplit(comment.issue_url or comment.pull_request_url or "").path.rpartition("/")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise SourceFailed("forge-answer")
    return int(number)
