"""GitHub as a source, with GitHub Enterprise.

Based on the description of the REST API, version 2022-11-28: https://docs.github.com/rest
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from urllib.parse import quote, urlsplit

from ingot_contracts.repos.imports import ImportedDependency
from ingot_remotes.connections.http import SourceHttp, each
from ingot_remotes.connections.linked_pages import (
    PAGE_SIZE,
    LinkedPages,
    ListPage,
    Query,
    source_page,
)
from ingot_remotes.forges.github_answers import (
    NOTHING,
    CommentAnswer,
    IssueAnswer,
    LabelAnswer,
    LineCommentAnswer,
    MilestoneAnswer,
    NumberedIssue,
    NumberedPull,
    PullAnswer,
    PullDetails,
    ReactionAnswer,
    ReleaseAnswer,
    RepositoryAnswer,
    ReviewAnswer,
    UserAnswer,
    comment_of,
    issue_of,
    label_of,
    milestone_of,
    pull_of,
    release_of,
    settings_of,
)
from ingot_remotes.forges.github_rules import ProtectedBranch, ProtectionAnswer, rule_of
from ingot_remotes.interface.source import (
    Kind,
    Listed,
    PersonKey,
    SourcePage,
    SourceRules,
    SourceSettings,
)

HEADERS = {"X-GitHub-Api-Version": "2022-11-28"}
MOST_RULES, MOST_PAGES = 200, 10
"""Rules of branches that are read, and pages of protected branches."""
DETAILED_PAGE_SIZE = 10
"""Pull requests of a page: each needs up to six further requests."""
_OLDEST: Query = {"sort": "created", "direction": "asc"}
_LISTS: Mapping[Kind, ListPage] = {
    "labels": ListPage("/labels", {}),
    "milestones": ListPage("/milestones", {"state": "all"}),
    "issues": ListPage("/issues", {"state": "all", **_OLDEST}),
    "pulls": ListPage("/pulls", {"state": "all", **_OLDEST}, size=DETAILED_PAGE_SIZE),
    "comments": ListPage("/issues/comments", _OLDEST),
    "dependencies": ListPage("/issues", {"state": "all", **_OLDEST}),
    "releases": ListPage("/releases", {}),
}
"""Lists below the path of the repository. GitHub tracks no times."""
BY_TIME: tuple[Kind, ...] = ("issues", "pulls", "comments", "dependencies")
"""Kinds of which GitHub lists those that changed since a time. A new reaction is no change."""


COSTS: Mapping[Kind, float] = {
    "labels": 1 / PAGE_SIZE,
    "milestones": 1 / PAGE_SIZE,
    "issues": 1 / PAGE_SIZE,
    "pulls": 5 + 1 / DETAILED_PAGE_SIZE,
    "comments": 1 / PAGE_SIZE,
    "dependencies": 1 / PAGE_SIZE,
    "releases": 1 / PAGE_SIZE,
}
"""About the requests for an object, without reactions."""


def api_root(site: str) -> str:
    """Return the root of a site's API. The API of github.com has its own host."""
    parts = urlsplit(site)
    return (
        "https://api.github.com" if parts.hostname in ("github.com", "www.github.com") else f"{site}/api/v3"
    )


class GithubRepository:
    """A repository of GitHub."""

    def __init__(self, http: SourceHttp, owner: str, name: str, since: datetime | None = None) -> None:
        self._http, self._pages, self._since = http, LinkedPages(http), since
        self._path = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    async def pull_offset(self) -> int:
        """Return 0: issues and pull requests share their numbers."""
        return 0

    async def settings(self) -> SourceSettings:
        """Return the settings. Raises SourceFailed, SourceBusy."""
        return settings_of(await self._pages.optional(self._path, RepositoryAnswer, RepositoryAnswer()))

    async def rules(self) -> SourceRules:
        """Return the rules for branches; those that the owner of the token may not see are ``hidden``.

        Each rule needs a request. So at most ``MOST_RULES`` are read, and none without credentials; the
        others are ``hidden``, too. Raises SourceFailed, SourceBusy.
        """
        path, query = f"{self._path}/branches", {"protected": "true"}
        branches, _ = await self._pages.first(path, list[ProtectedBranch], query, most_pages=MOST_PAGES)
        names = [one.name for one in branches]
        most = MOST_RULES if self._http.has_credentials else 0
        answers = await each([self._protection(name) for name in names[:most]])
        rules = {name: answer for name, answer in zip(names, answers, strict=False) if answer is not None}
        return SourceRules(
            branches=[rule_of(name, answer) for name, answer in rules.items()],
            hidden=[name for name in names if name not in rules],
            addresses=await self._addresses(user for answer in rules.values() for user in answer.users()),
        )

    async def _protection(self, branch: str) -> ProtectionAnswer | None:
        """Return the protection of a branch. Return None if the owner of the token may not see it."""
        path = f"{self._path}/branches/{quote(branch, safe='')}/protection"
        return await self._pages.optional(path, ProtectionAnswer, None)

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open an asset of a release. Raises SourceFailed, SourceBusy."""
        return self._http.open_file(url)

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, or None if it is unknown. Raises SourceFailed, SourceBusy.

        The number of issues includes pull requests, because their list has both. The number is 0 for times,
        which GitHub does not track.
        """
        if kind not in _LISTS:
            return 0
        where = self._where(kind, "")
        return await self._pages.count(where.path, where.query)

    async def page(self, kind: Kind, place: str) -> SourcePage:
        """Return a page. Its place is the query of its link. Raises SourceFailed, SourceBusy."""
        readers: Mapping[Kind, Callable[[ListPage], Awaitable[SourcePage]]] = {
            "labels": self._labels,
            "milestones": self._milestones,
            "issues": self._issues,
            "pulls": self._pulls,
            "comments": self._comments,
            "dependencies": self._dependencies,
            "releases": self._releases,
        }
        return await readers[kind](self._where(kind, place)) if kind in readers else SourcePage(size=0)

    def _where(self, kind: Kind, place: str) -> ListPage:
        where = _LISTS[kind]
        if self._since is not None and kind in BY_TIME:
            # Only the list of issues, which has pull requests too, can be limited.
            path = _LISTS["issues"].path if kind == "pulls" else where.path
            since = self._since.strftime("%Y-%m-%dT%H:%M:%SZ")
            where = where._replace(path=path, query={**where.query, "since": since})
        return where._replace(path=self._path + where.path, place=place)

    async def _labels(self, where: ListPage) -> SourcePage:
        labels, following = await self._pages.page(where, list[LabelAnswer])
        return source_page(labels, following, labels=[label_of(one) for one in labels])

    async def _milestones(self, where: ListPage) -> SourcePage:
        milestones, following = await self._pages.page(where, list[MilestoneAnswer])
        return source_page(milestones, following, milestones=[milestone_of(one) for one in milestones])

    async def _releases(self, where: ListPage) -> SourcePage:
        releases, following = await self._pages.page(where, list[ReleaseAnswer])
        addresses = await self._addresses(one.author for one in releases)
        return source_page(
            releases, following, addresses=addresses, releases=[release_of(one) for one in releases]
        )

    async def _issues(self, where: ListPage) -> SourcePage:
        issues, following = await self._pages.page(where, list[IssueAnswer])
        plain = [one for one in issues if one.pull_request == NOTHING]
        reactions = await each(
            [self._reactions(f"/issues/{one.number}", one.reactions.total_count) for one in plain]
        )
        users = [user for one in plain for user in (one.user, *(one.assignees or ()))]
        users += [one.user for group in reactions for one in group]
        return source_page(
            issues,
            following,
            addresses=await self._addresses(users),
            issues=[issue_of(one, group) for one, group in zip(plain, reactions, strict=True)],
        )

    async def _pulls(self, where: ListPage) -> SourcePage:
        listed: Sequence[Listed]
        if self._since is None:
            pulls, following = await self._pages.page(where, list[NumberedPull])
            listed, numbers = pulls, [one.number for one in pulls]
        else:
            issues, following = await self._pages.page(where, list[IssueAnswer])
            listed, numbers = issues, [one.number for one in issues if one.pull_request != NOTHING]
        details = await each([self._details(number) for number in numbers])
        return source_page(
            listed,
            following,
            addresses=await self._addresses(user for one in details for user in one.users()),
            pulls=[pull_of(one) for one in details],
            comments=[
                comment_of(text, group, one.pull.number)
                for one in details
                for text, group in zip(one.comments, one.reactions_to_comments, strict=True)
            ],
        )

    async def _details(self, number: int) -> PullDetails:
        """Return a pull request with its comments, reviews and reactions.

        The list of pull requests lacks half of the fields.
        """
        path = f"{self._path}/pulls/{number}"
        pull = (await self._pages.get(path, PullAnswer)).value
        comments = list[CommentAnswer]()
        if pull.comments:
            comments = await self._pages.all(f"{self._path}/issues/{number}/comments", list[CommentAnswer])
        return PullDetails(
            pull=pull,
            reactions=await self._reactions(f"/issues/{number}", 1),
            comments=comments,
            reactions_to_comments=[await self._reactions_to(one) for one in comments],
            reviews=await self._pages.all(f"{path}/reviews", list[ReviewAnswer]),
            line_comments=await self._pages.all(f"{path}/comments", list[LineCommentAnswer])
            if pull.review_comments
            else [],
        )

    async def _comments(self, where: ListPage) -> SourcePage:
        comments, following = await self._pages.page(where, list[CommentAnswer])
        reactions = await each([self._reactions_to(one) for one in comments])
        users = [one.user for one in comments]
        users += [one.user for group in reactions for one in group]
        return source_page(
            comments,
            following,
            addresses=await self._addresses(users),
            comments=[comment_of(one, group) for one, group in zip(comments, reactions, strict=True)],
        )

    async def _dependencies(self, where: ListPage) -> SourcePage:
        issues, following = await self._pages.page(where, list[IssueAnswer])
        blocked = [one.number for one in issues if one.issue_dependencies_summary.total_blocked_by]
        blockers = await each([self._blockers(number) for number in blocked])
        return source_page(
            issues,
            following,
            dependencies=[
                ImportedDependency(number=number, blocker=blocker)
                for number, group in zip(blocked, blockers, strict=True)
                for blocker in group
            ],
        )

    async def _blockers(self, number: int) -> list[int]:
        """Return the issues of this repository that block an issue."""
        path = f"{self._path}/issues/{number}/dependencies/blocked_by"
        blockers = await self._pages.all(path, list[NumberedIssue])
        return [one.number for one in blockers if self._is_here(one.repository_url)]

    def _is_here(self, repository_url: str) -> bool:
        return not repository_url or repository_url.lower().endswith(self._path.lower())

    async def _reactions_to(self, comment: CommentAnswer) -> list[ReactionAnswer]:
        return await self._reactions(f"/issues/comments/{comment.id}", comment.reactions.total_count)

    async def _reactions(self, path: str, count: int) -> list[ReactionAnswer]:
        return await self._pages.all(f"{self._path}{path}/reactions", list[ReactionAnswer]) if count else []

    async def _addresses(self, users: Iterable[UserAnswer | None]) -> dict[PersonKey, str]:
        people = {(user.id, user.login) for user in users if user is not None}
        return await self._pages.addresses(people, self._read_address)

    async def _read_address(self, person: PersonKey) -> str | None:
        path = f"/users/{quote(person[1], safe='')}"
        return (await self._pages.optional(path, UserAnswer, UserAnswer(*person))).email
