"""Gitea as a source, with Forgejo, Gogs and Ingot, which share its API.

https://docs.gitea.com/api. Gogs ignores ``type`` and lists pull requests with the issues; they are left out.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypedDict, TypeVar, cast
from urllib.parse import quote

import msgspec

from ingot_contracts.repos.imports import (
    ImportedDependency,
)
from ingot_repos.imports.clients.gitea_answers import (
    NOTHING,
    STATES,
    CommentAnswer,
    IssueAnswer,
    LabelAnswer,
    LineCommentAnswer,
    MilestoneAnswer,
    NumberedIssue,
    PullAnswer,
    PullDetails,
    ReactionAnswer,
    ReleaseAnswer,
    ReviewAnswer,
    TimeAnswer,
    TopicsAnswer,
    UserAnswer,
    comment_of,
    issue_of,
    label_of,
    milestone_of,
    pull_of,
    release_of,
    time_of,
)
from ingot_repos.imports.clients.http import SourceHttp, each
from ingot_repos.imports.clients.source import (
    ABSENT,
    Kind,
    Listed,
    PersonKey,
    SourceFailed,
    SourcePage,
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
_T = TypeVar("_T")


OPTIONAL: tuple[Kind, ...] = ("times", "dependencies", "releases")


class _Size(TypedDict):
    """Fields of ``SourcePage``."""

    size: int
    first: int
    following: str
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


def api_root(site: str) -> str:
    """Return the root of the API of a site."""
    return f"{site}/api/v1"


COSTS: Mapping[Kind, float] = {
    "labels": 1 / PAGE_SIZE,
    "milestones": 1 / PAGE_SIZE,
    "issues": 1 + 1 / PAGE_SIZE,
    "pulls": 4 + 1 / DETAILED_PAGE_SIZE,
    "comments": 1 + 1 / PAGE_SIZE,
    "times": 1 / PAGE_SIZE,
    "dependencies": 1 + 1 / DETAILED_PAGE_SIZE,
    "releases": 1 / PAGE_SIZE,
}
"""About the requests for an object: its page, its reactions, and the reviews of a pull request."""


class GiteaRepository:
    """A repository of a Gitea."""

    def __init__(self, http: SourceHttp, owner: str, name: str, *, is_gogs: bool = False) -> None:
        self._http, self._is_gogs = http, is_gogs
        self._full_name = f"{owner}/{name}"
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    async def pull_offset(self) -> int:
        """Return 0: issues and pull requests share their numbers."""
        return 0

    async def topics(self) -> list[str]:
        """Return the topics; none of a Gogs, which has no topics."""
        if self._is_gogs:
            return []
        try:
            answer = (await self._http.get(f"{self._path}/topics", {}, TopicsAnswer)).value
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

    async def page(self, kind: Kind, place: str) -> SourcePage:
        """Return a page. Its place is its number. Raises SourceFailed, SourceBusy."""
        number = int(place or "1")
        if kind in OPTIONAL:
            return await self._optional_page(kind, number)
        if kind == "labels":
            labels, total = await self._read(kind, number, list[LabelAnswer])
            return SourcePage(**_size(labels, total, number), labels=[label_of(one) for one in labels])
        if kind == "milestones":
            milestones, total = await self._read(kind, number, list[MilestoneAnswer])
            return SourcePage(
                **_size(milestones, total, number), milestones=[milestone_of(one) for one in milestones]
            )
        if kind == "issues":
            issues, total = await self._read(kind, number, list[IssueAnswer])
            plain = [one for one in issues if one.pull_request == NOTHING]
            reactions = await each([self._reactions(f"/issues/{one.number}") for one in plain])
            users = [user for one in plain for user in (one.user, *(one.assignees or ()))]
            users += [one.user for group in reactions for one in group]
            return SourcePage(
                **_size(issues, total, number),
                addresses=_addresses(users),
                issues=[issue_of(one, group) for one, group in zip(plain, reactions, strict=True)],
            )
        if kind == "pulls":
            pulls, total = await self._read(kind, number, list[PullAnswer])
            details = await each([self._details(one) for one in pulls])
            users = [user for one in pulls for user in (one.user, one.merged_by, *(one.assignees or ()))]
            users += [user for one in details for user in one.users()]
            pairs = [*zip(pulls, details, strict=True)]
            return SourcePage(
                **_size(pulls, total, number),
                addresses=_addresses(users),
                pulls=[pull_of(pull, one) for pull, one in pairs],
                comments=[
                    comment_of(text, group, pull.number)
                    for pull, one in pairs
                    for text, group in zip(one.comments, one.reactions_to_comments, strict=True)
                ],
            )
        comments, total = await self._read(kind, number, list[CommentAnswer])
        reactions = await each([self._reactions(f"/issues/comments/{one.id}") for one in comments])
        users = [one.user for one in comments]
        users += [one.user for group in reactions for one in group]
        return SourcePage(
            **_size(comments, total, number),
            addresses=_addresses(users),
            comments=[comment_of(one, group) for one, group in zip(comments, reactions, strict=True)],
        )

    async def _optional_page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page of data that the source may not have, or hide from the owner of the token."""
        if self._is_gogs:
            return SourcePage(size=0)
        try:
            if kind == "times":
                return await self._times(number)
            if kind == "releases":
                releases, total = await self._read(kind, number, list[ReleaseAnswer])
                addresses = _addresses(one.author for one in releases)
                converted = [release_of(one) for one in releases]
                return SourcePage(**_size(releases, total, number), addresses=addresses, releases=converted)
            return await self._dependencies(number)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return SourcePage(size=0)

    async def _times(self, number: int) -> SourcePage:
        times, total = await self._read("times", number, list[TimeAnswer])
        names = {one.user_name: one.user_id for one in times if one.user_name and one.user_id > 0}
        addresses = await each([self._address(name) for name in names])
        return SourcePage(
            **_size(times, total, number),
            addresses={(names[name], name): address for name, address in zip(names, addresses, strict=True)},
            times=[time_of(one) for one in times],
        )

    async def _dependencies(self, number: int) -> SourcePage:
        numbered, total = await self._read("dependencies", number, list[NumberedIssue])
        blockers = await each([self._blockers(one.number) for one in numbered])
        return SourcePage(
            **_size(numbered, total, number),
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
                user = (await self._http.get(f"/users/{quote(login, safe='')}", {}, UserAnswer)).value
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return ""
        return user.email or ""

    async def _details(self, pull: PullAnswer) -> "PullDetails":
        """Return what belongs to a pull request."""
        if self._is_gogs:
            return PullDetails()
        issue = f"/issues/{pull.number}"
        comments = await self._all(f"{issue}/comments", list[CommentAnswer])
        reviews = await self._all(f"/pulls/{pull.number}/reviews", list[ReviewAnswer])
        return PullDetails(
            reactions=await self._reactions(issue),
            comments=comments,
            reactions_to_comments=[await self._reactions(f"/issues/comments/{one.id}") for one in comments],
            reviews=reviews,
            line_comments=[
                await self._all(f"/pulls/{pull.number}/reviews/{one.id}/comments", list[LineCommentAnswer])
                if one.comments_count and one.state in STATES
                else []
                for one in reviews
            ],
        )

    async def _reactions(self, path: str) -> list[ReactionAnswer]:
        if self._is_gogs:
            return []
        return await self._all(f"{path}/reactions", list[ReactionAnswer])

    async def _blockers(self, number: int) -> list[int]:
        """Return the issues of this repository that block an issue."""
        blockers = await self._all(f"/issues/{number}/dependencies", list[NumberedIssue])
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
                page = (await self._http.get(self._path + path, query, _or_null(answer))).value
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
        items, headers, _ = await self._http.get(self._path + _PATHS[kind], query, answer)
        if len(items) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        total = headers.get("X-Total-Count", "")
        return items, int(total) if re.fullmatch("[0-9]{1,9}", total) else None


def _or_null(answer: type[_T]) -> type[_T | None]:
    """Return the type of an answer that Gitea spells null if it is empty."""
    return cast("type[_T | None]", answer | None)


def _size(items: Sequence[Listed], total: int | None, number: int) -> _Size:
    """Return the fields of a page. An empty page is the last one: sources may make pages shorter."""
    following = str(number + 1) if items else ""
    return {"size": len(items), "first": items[0].id if items else 0, "following": following, "total": total}


def _addresses(users: Iterable[UserAnswer | None]) -> dict[PersonKey, str]:
    return {(user.id, user.login): user.email or "" for user in users if user is not None and user.id > 0}
