"""Gitea as a source, with Forgejo, Gogs and Ingot, which share its API.

https://docs.gitea.com/api. Gogs ignores ``type``, so its list of issues has pull requests, which are omitted.
Gitea's lists do not show which objects have reactions, so each object needs a request. Ingot has a list of
the reactions to many objects.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypedDict, TypeVar, cast
from urllib.parse import quote

import msgspec

from ingot_contracts.repos.imports import ImportedDependency
from ingot_remotes.connections.http import SourceHttp, each
from ingot_remotes.forges.gitea_answers import (
    NOTHING,
    STATES,
    AssetAnswer,
    BranchRuleAnswer,
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
    RepositoryAnswer,
    RepositoryReactionAnswer,
    ReviewAnswer,
    TagRuleAnswer,
    TimeAnswer,
    TopicsAnswer,
    UserAnswer,
    branch_rule_of,
    comment_of,
    issue_of,
    label_of,
    milestone_of,
    pull_of,
    release_of,
    settings_of,
    tag_rule_of,
    time_of,
)
from ingot_remotes.interface.source import (
    ABSENT,
    Kind,
    Listed,
    PersonKey,
    SourceFailed,
    SourcePage,
    SourceRules,
    SourceSettings,
)

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
DETAILED_PAGE_SIZE = 10
"""Pull requests of a page: each needs several further requests."""
REQUESTS_AT_ONCE = 4
MOST_INNER_PAGES = 100
"""Limit of pages about one issue or pull request."""
MOST_OBJECTS = 1_000
"""Limit of objects of one page: some sources ignore the size of pages."""
_T = TypeVar("_T")


OPTIONAL: tuple[Kind, ...] = ("times", "dependencies", "releases")


class _Size(TypedDict):
    """The fields of ``SourcePage`` that describe the page."""

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
_SIZES: Mapping[Kind, int] = {"pulls": DETAILED_PAGE_SIZE}
_REACTIONS = "/issues/reactions"
"""A list of Ingot. Gitea answers 404: it takes the last word for the number of an issue."""


def api_root(site: str) -> str:
    """Return the root of the API of a site."""
    return f"{site}/api/v1"


COSTS: Mapping[Kind, float] = {
    "labels": 1 / PAGE_SIZE,
    "milestones": 1 / PAGE_SIZE,
    "issues": 1 + 1 / PAGE_SIZE,
    "pulls": 5 + 1 / DETAILED_PAGE_SIZE,
    "comments": 1 + 1 / PAGE_SIZE,
    "times": 1 / PAGE_SIZE,
    "dependencies": 1 + 1 / PAGE_SIZE,
    "releases": 1 / PAGE_SIZE,
}
"""About the requests for an object: its page, its reactions, and the reviews of a pull request.

A source with a list of reactions needs about half of them.
"""


class _Reactions(NamedTuple):
    """Reactions to issues by number, and to comments by id."""

    to_issues: Mapping[int, list[ReactionAnswer]]
    to_comments: Mapping[int, list[ReactionAnswer]]

    def users(self) -> list[UserAnswer | None]:
        groups = [*self.to_issues.values(), *self.to_comments.values()]
        return [one.user for group in groups for one in group]


class GiteaRepository:
    """A repository of a Gitea, Forgejo, Gogs or Ingot."""

    def __init__(self, http: SourceHttp, owner: str, name: str, *, is_gogs: bool = False) -> None:
        self._http, self._is_gogs = http, is_gogs
        self._full_name = f"{owner}/{name}"
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    async def pull_offset(self) -> int:
        """Return 0: issues and pull requests share their numbers."""
        return 0

    async def settings(self) -> SourceSettings:
        """Return the settings. Gogs has no topics. Raises SourceFailed, SourceBusy."""
        repository = await self._optional("", RepositoryAnswer) or RepositoryAnswer()
        topics = None if self._is_gogs else await self._optional("/topics", TopicsAnswer)
        return settings_of(repository, (topics and topics.topics) or [])

    async def rules(self) -> SourceRules:
        """Return the rules for branches and tags; none if the owner of the token may not see them.

        Raises SourceFailed, SourceBusy.
        """
        if self._is_gogs:
            return SourceRules()
        branches = await self._optional("/branch_protections", list[BranchRuleAnswer]) or []
        tags = await self._optional("/tag_protections", list[TagRuleAnswer]) or []
        if len(branches) + len(tags) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        rules = SourceRules(
            branches=[branch_rule_of(one) for one in branches], tags=[tag_rule_of(one) for one in tags]
        )
        groups = [group for one in rules.branches for group in one.people.values()]
        groups += [one.people for one in rules.tags]
        names = sorted({name for group in groups for name in group if name})
        people = await each([self._user(name) for name in names[:MOST_OBJECTS]])
        return msgspec.structs.replace(rules, addresses=_addresses(people))

    async def _optional(self, path: str, answer: type[_T]) -> _T | None:
        """Return an answer about the repository, or None if the source lacks or hides it."""
        try:
            async with self._slots:
                return (await self._http.get(self._path + path, {}, _or_null(answer))).value
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return None

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open an asset of a release. Raises SourceFailed, SourceBusy."""
        return self._http.open_file(url)

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects; None if the server (Gogs) does not return it.

        It is 0 for an optional kind that the server lacks or hides. Raises SourceFailed, SourceBusy.
        """
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
        """Return a page. Its place is the number of the page. Raises SourceFailed, SourceBusy."""
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
            return await self._issues(number)
        if kind == "pulls":
            return await self._pulls(number)
        return await self._comments(number)

    async def _issues(self, number: int) -> SourcePage:
        issues, total = await self._read("issues", number, list[IssueAnswer])
        plain = [one for one in issues if one.pull_request == NOTHING]
        reactions = await self._reactions([one.number for one in plain], [])
        users = [user for one in plain for user in (one.user, *(one.assignees or ()))]
        return SourcePage(
            **_size(issues, total, number),
            addresses=_addresses([*users, *reactions.users()]),
            issues=[issue_of(one, reactions.to_issues.get(one.number, [])) for one in plain],
        )

    async def _pulls(self, number: int) -> SourcePage:
        pulls, total = await self._read("pulls", number, list[PullAnswer])
        pairs = [*zip(pulls, await each([self._details(one) for one in pulls]), strict=True)]
        texts = [(text, pull.number) for pull, one in pairs for text in one.comments]
        reactions = await self._reactions([one.number for one in pulls], [text.id for text, _ in texts])
        users = [user for one in pulls for user in (one.user, one.merged_by, *(one.assignees or ()))]
        users += [user for _, one in pairs for user in one.users()]
        return SourcePage(
            **_size(pulls, total, number),
            addresses=_addresses([*users, *reactions.users()]),
            pulls=[pull_of(pull, one, reactions.to_issues.get(pull.number, [])) for pull, one in pairs],
            comments=[
                comment_of(text, reactions.to_comments.get(text.id, []), index) for text, index in texts
            ],
        )

    async def _comments(self, number: int) -> SourcePage:
        """Return a page of comments. Comments on pull requests were read with them, except newer comments."""
        comments, total = await self._read("comments", number, list[CommentAnswer])
        of_issues = [one.id for one in comments if one.issue_url or self._is_gogs]
        reactions = await self._reactions([], of_issues)
        return SourcePage(
            **_size(comments, total, number),
            addresses=_addresses([*(one.user for one in comments), *reactions.users()]),
            comments=[comment_of(one, reactions.to_comments.get(one.id, [])) for one in comments],
        )

    async def _optional_page(self, kind: Kind, number: int) -> SourcePage:
        """Return a page of an optional kind. It is empty if the source lacks the kind or hides it."""
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
        users = await each([self._user(name) for name in names])
        return SourcePage(
            **_size(times, total, number),
            addresses={
                (names[name], name): user.email or "" for name, user in zip(names, users, strict=True)
            },
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

    async def _user(self, login: str) -> UserAnswer:
        """Return a user with the public address. If the user does not exist, return a user without an id."""
        try:
            async with self._slots:
                return (await self._http.get(f"/users/{quote(login, safe='')}", {}, UserAnswer)).value
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return UserAnswer()

    async def _details(self, pull: PullAnswer) -> "PullDetails":
        """Return the attachments, comments and reviews of a pull request; none from Gogs."""
        if self._is_gogs:
            return PullDetails()
        comments = await self._all(f"/issues/{pull.number}/comments", list[CommentAnswer])
        reviews = await self._all(f"/pulls/{pull.number}/reviews", list[ReviewAnswer])
        return PullDetails(
            assets=await self._optional(f"/issues/{pull.number}/assets", list[AssetAnswer]) or [],
            comments=comments,
            reviews=reviews,
            line_comments=[
                await self._all(f"/pulls/{pull.number}/reviews/{one.id}/comments", list[LineCommentAnswer])
                if one.comments_count and one.state in STATES
                else []
                for one in reviews
            ],
        )

    async def _reactions(self, numbers: Sequence[int], comment_ids: Sequence[int]) -> _Reactions:
        """Return the reactions to issues and comments. Without Ingot's list, each object needs a request."""
        if self._is_gogs or not (numbers or comment_ids):
            return _Reactions({}, {})
        if _REACTIONS not in self._http.memory.absent:
            try:
                return await self._listed_reactions(numbers, comment_ids)
            except SourceFailed as error:
                if error.fault not in ABSENT:
                    raise
                self._http.memory.absent.add(_REACTIONS)
        paths = [f"/issues/{number}" for number in numbers]
        paths += [f"/issues/comments/{comment_id}" for comment_id in comment_ids]
        groups = await each([self._all(f"{path}/reactions", list[ReactionAnswer]) for path in paths])
        return _Reactions(
            dict(zip(numbers, groups[: len(numbers)], strict=True)),
            dict(zip(comment_ids, groups[len(numbers) :], strict=True)),
        )

    async def _listed_reactions(self, numbers: Sequence[int], comment_ids: Sequence[int]) -> _Reactions:
        to_issues, to_comments = (defaultdict[int, list[ReactionAnswer]](list) for _ in range(2))
        for start in range(0, max(len(numbers), len(comment_ids)), PAGE_SIZE):
            end = start + PAGE_SIZE
            query = {
                "issues": ",".join(str(number) for number in numbers[start:end]),
                "comments": ",".join(str(comment_id) for comment_id in comment_ids[start:end]),
            }
            for one in await self._all(_REACTIONS, list[RepositoryReactionAnswer], query):
                group = to_issues[one.number] if one.comment_id is None else to_comments[one.comment_id]
                group.append(one)
        return _Reactions(to_issues, to_comments)

    async def _blockers(self, number: int) -> list[int]:
        """Return the issues of this repository that block an issue."""
        blockers = await self._all(f"/issues/{number}/dependencies", list[NumberedIssue])
        return [
            one.number
            for one in blockers
            if one.repository is None or one.repository.full_name.lower() == self._full_name.lower()
        ]

    async def _all(
        self, path: str, answer: type[list[_T]], filters: Mapping[str, str] | None = None
    ) -> list[_T]:
        """Return the objects of all pages. Some sources return all objects on every page."""
        items: list[_T] = []
        for number in range(1, MOST_INNER_PAGES + 1):
            query: dict[str, str | int] = {**(filters or {}), "page": number, "limit": PAGE_SIZE}
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
        """Return the objects of a page, and the number of all objects.

        The number is None if the source does not return it.
        """
        query = {**_QUERIES[kind], "page": number, "limit": size or _SIZES.get(kind, PAGE_SIZE)}
        items, headers, _ = await self._http.get(self._path + _PATHS[kind], query, answer)
        if len(items) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        total = headers.get("X-Total-Count", "")
        return items, int(total) if re.fullmatch("[0-9]{1,9}", total) else None


def _or_null(answer: type[_T]) -> type[_T | None]:
    """Return the type of an answer that may be null, because Gitea returns null for an empty list."""
    return cast("type[_T | None]", answer | None)


def _size(items: Sequence[Listed], total: int | None, number: int) -> _Size:
    """Return the fields of a page. Only an empty page is the last page: sources may shorten pages."""
    following = str(number + 1) if items else ""
    return {"size": len(items), "first": items[0].id if items else 0, "following": following, "total": total}


def _addresses(users: Iterable[UserAnswer | None]) -> dict[PersonKey, str]:
    return {(user.id, user.login): user.email or "" for user in users if user is not None and user.id > 0}
