"""GitLab as a source. Merge requests get other numbers here (``pull_offset``).

Based on the documentation of the REST API, version 4, of GitLab 18: https://docs.gitlab.com/api/rest/
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from urllib.parse import quote

from ingot_remotes.connections.http import SourceHttp, each
from ingot_remotes.connections.linked_pages import PAGE_SIZE, LinkedPages, ListPage, Query, source_page
from ingot_remotes.forges.gitlab_answers import (
    ApprovalsAnswer,
    AwardAnswer,
    DiscussionAnswer,
    IssueAnswer,
    IssueDetails,
    LabelAnswer,
    MergeAnswer,
    MergeCommits,
    MergeDetails,
    MilestoneAnswer,
    NoteAnswer,
    NumberedIssue,
    ProjectAnswer,
    ReleaseAnswer,
    UserAnswer,
    comments_of,
    issue_of,
    label_of,
    milestone_of,
    pull_of,
    release_of,
    times_of,
)
from ingot_remotes.interface.source import Kind, PersonKey, SourcePage, SourceRules, SourceSettings

LEAST_OFFSET = 1_000
MOST_NOTES = 300
"""Notes of an issue or merge request whose reactions are asked for, one request each."""
_OLDEST: Query = {"order_by": "created_at", "sort": "asc"}
_DETAILED: Query = {"scope": "all", "state": "all", "with_labels_details": "true", **_OLDEST}
_LISTS: Mapping[Kind, ListPage] = {
    "labels": ListPage("/labels", {}),
    "milestones": ListPage("/milestones", {"include_ancestors": "true"}),
    "issues": ListPage("/issues", {"confidential": "false", **_DETAILED}, size=20),
    "pulls": ListPage("/merge_requests", _DETAILED, size=10),
    "releases": ListPage("/releases", {"order_by": "created_at", "sort": "asc"}),
}
"""Lists below the path of the project. Comments and times come with issues and merge requests."""
BY_TIME: tuple[Kind, ...] = ("issues", "pulls")
"""Kinds of which GitLab lists those that changed since a time."""


COSTS: Mapping[Kind, float] = {
    "labels": 1 / PAGE_SIZE,
    "milestones": 1 / PAGE_SIZE,
    "issues": 2 + 1 / 20,
    "pulls": 4 + 1 / 10,
    "releases": 1 / PAGE_SIZE,
}
"""About the requests for an object, without the reactions to notes, which have one each."""


def api_root(site: str) -> str:
    """Return the root of the API of a site."""
    return f"{site}/api/v4"


def offset_above(highest: int) -> int:
    """Return the offset for numbers of merge requests: a power of ten above the highest issue number.

    It leaves room for a tenth more issues.
    """
    offset = LEAST_OFFSET
    while offset <= highest + highest // 10:
        offset *= 10
    return offset


class GitlabRepository:
    """A project of GitLab. ``pull_offset`` is the offset of the import, or None before it is known."""

    def __init__(
        self,
        http: SourceHttp,
        site: str,
        path: str,
        pull_offset: int | None,
        since: datetime | None = None,
    ) -> None:
        self._http, self._pages, self._root = http, LinkedPages(http), api_root(site)
        self._offset, self._since = pull_offset, since
        self._path = f"/projects/{quote(path, safe='')}"

    async def pull_offset(self) -> int:
        """Return the offset for numbers of merge requests. Raises SourceFailed, SourceBusy."""
        query: Query = {"scope": "all", "state": "all", "order_by": "created_at", "sort": "desc"}
        issues, _ = await self._pages.page(ListPage(f"{self._path}/issues", query), list[NumberedIssue])
        return offset_above(max((one.iid for one in issues), default=0))

    async def settings(self) -> SourceSettings:
        """Return the topics and the description. Raises SourceFailed, SourceBusy."""
        project = (await self._pages.get(self._path, ProjectAnswer)).value
        return SourceSettings(topics=project.topics or [], description=project.description or "")

    async def rules(self) -> SourceRules:
        """Return no rules: GitLab's rules have no counterpart here."""
        return SourceRules()

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open an asset of a release. Raises SourceFailed, SourceBusy."""
        return self._http.open_file(url)

    async def count(self, kind: Kind) -> int | None:
        """Return the number of objects, or None if it is unknown. Raises SourceFailed, SourceBusy.

        The number is 0 for kinds that have no list, such as comments and times.
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
            "pulls": self._merges,
            "releases": self._releases,
        }
        return await readers[kind](self._where(kind, place)) if kind in readers else SourcePage(size=0)

    def _where(self, kind: Kind, place: str) -> ListPage:
        where = _LISTS[kind]
        if self._since is not None and kind in BY_TIME:
            since = self._since.strftime("%Y-%m-%dT%H:%M:%SZ")
            where = where._replace(query={**where.query, "updated_after": since})
        return where._replace(path=self._path + where.path, place=place)

    async def _labels(self, where: ListPage) -> SourcePage:
        labels, following = await self._pages.page(where, list[LabelAnswer])
        return source_page(labels, following, labels=[label_of(one) for one in labels])

    async def _milestones(self, where: ListPage) -> SourcePage:
        milestones, following = await self._pages.page(where, list[MilestoneAnswer])
        return source_page(milestones, following, milestones=[milestone_of(one) for one in milestones])

    async def _releases(self, where: ListPage) -> SourcePage:
        releases, following = await self._pages.page(where, list[ReleaseAnswer])
        converted = [release_of(one, self._root) for one in releases]
        addresses = await self._addresses(one.author for one in releases)
        return source_page(releases, following, addresses=addresses, releases=converted)

    async def _issues(self, where: ListPage) -> SourcePage:
        """Return a page of issues.

        Confidential issues, and issues with numbers above the offset, are omitted.
        """
        issues, following = await self._pages.page(where, list[IssueAnswer])
        shown = [
            one for one in issues if not one.confidential and (not self._offset or one.iid <= self._offset)
        ]
        details = await each([self._details(one) for one in shown])
        return source_page(
            issues,
            following,
            addresses=await self._addresses(user for one in details for user in one.users()),
            issues=[issue_of(one) for one in details],
            comments=[text for one in details for text in comments_of(one, one.issue.iid)],
            times=[time for one in shown for time in times_of(one, one.iid)],
        )

    async def _details(self, issue: IssueAnswer) -> IssueDetails:
        path = f"{self._path}/issues/{issue.iid}"
        notes = list[NoteAnswer]()
        if issue.user_notes_count:
            notes = await self._pages.all(f"{path}/notes", list[NoteAnswer], _OLDEST)
        texts = [one for one in notes if one.is_text]
        awards, *awards_to_notes = await self._awards(path, texts)
        return IssueDetails(issue, awards, texts, awards_to_notes)

    async def _merges(self, where: ListPage) -> SourcePage:
        merges, following = await self._pages.page(where, list[MergeAnswer])
        details = await each([self._merge_details(one) for one in merges])
        offset = self._offset or 0
        pairs = [(one, one.merge.iid + offset) for one in details]
        return source_page(
            merges,
            following,
            addresses=await self._addresses(user for one in details for user in one.users()),
            pulls=[pull_of(one, number) for one, number in pairs],
            comments=[text for one, number in pairs for text in comments_of(one, number)],
            times=[time for one, number in pairs for time in times_of(one.merge, number)],
        )

    async def _merge_details(self, merge: MergeAnswer) -> MergeDetails:
        path = f"{self._path}/merge_requests/{merge.iid}"
        commits = (await self._pages.get(path, MergeCommits)).value
        discussions = await self._pages.all(f"{path}/discussions", list[DiscussionAnswer])
        groups = [[note for note in one.notes if note.is_text] for one in discussions]
        threads = [group for group in groups if group and group[0].position is not None]
        texts = [note for group in groups if group not in threads for note in group]
        awards, *awards_to_notes = await self._awards(path, texts)
        approvals = await self._pages.optional(f"{path}/approvals", ApprovalsAnswer, ApprovalsAnswer())
        return MergeDetails(
            merge,
            awards,
            texts,
            awards_to_notes,
            merge=merge,
            commits=commits,
            threads=threads,
            approvals=approvals,
        )

    async def _awards(self, path: str, notes: Sequence[NoteAnswer]) -> list[list[AwardAnswer]]:
        """Return the reactions to an issue or merge request, and to each of its notes.

        With more than ``MOST_NOTES`` notes, reactions to notes are omitted.
        """
        paths = [path, *(f"{path}/notes/{note.id}" for note in notes)]
        if len(notes) > MOST_NOTES:
            return [await self._awards_at(path), *([] for _ in notes)]
        return await each([self._awards_at(one) for one in paths])

    async def _awards_at(self, path: str) -> list[AwardAnswer]:
        return await self._pages.all(f"{path}/award_emoji", list[AwardAnswer])

    async def _addresses(self, users: Iterable[UserAnswer | None]) -> dict[PersonKey, str]:
        people = {(user.id, user.username) for user in users if user is not None}
        return await self._pages.addresses(people, self._read_address)

    async def _read_address(self, person: PersonKey) -> str | None:
        return (
            await self._pages.optional(f"/users/{person[0]}", UserAnswer, UserAnswer(*person))
        ).public_email
