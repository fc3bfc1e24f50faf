"""Answers of GitLab's REST API, version 4, and their conversion for an import.

https://docs.gitlab.com/api/rest/ (of GitLab 18). Confidential issues and internal notes are omitted, because
here every reader of the repository would see them.
"""

import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedTime,
)
from ingot_remotes.interface.answers import Count, Id, Number, Sha
from ingot_remotes.interface.source import SourceAsset, SourceRelease

NO_SHA = "0" * 40
"""The head of a merge request without commits."""
SCOPE = "::"
"""Stands between the scope and the name of a scoped label. Labels here have a slash."""
CONTENTS: Mapping[str, str] = {
    "thumbsup": "+1",
    "thumbsdown": "-1",
    "laughing": "laugh",
    "smile": "laugh",
    "tada": "hooray",
    "confused": "confused",
    "heart": "heart",
    "rocket": "rocket",
    "eyes": "eyes",
}
"""Reactions by the names of GitLab's emoji. Others are left out."""


class UserAnswer(msgspec.Struct, frozen=True):
    id: Id
    username: str
    public_email: str | None = None


class LabelAnswer(msgspec.Struct):
    id: Id
    name: str
    color: str = ""
    description: str | None = ""
    archived: bool = False


class MilestoneAnswer(msgspec.Struct):
    id: Id
    title: str
    created_at: datetime
    updated_at: datetime
    description: str | None = ""
    state: str = "active"
    due_date: date | None = None


class TimeStats(msgspec.Struct):
    total_time_spent: int = 0


class IssueAnswer(msgspec.Struct):
    id: Id
    iid: Number
    title: str
    created_at: datetime
    updated_at: datetime
    author: UserAnswer | None = None
    description: str | None = ""
    state: str = "opened"
    labels: list[LabelAnswer] = []
    milestone: MilestoneAnswer | None = None
    assignees: list[UserAnswer] | None = None
    discussion_locked: bool | None = None
    due_date: date | None = None
    closed_at: datetime | None = None
    confidential: bool = False
    user_notes_count: Count = 0
    time_stats: TimeStats = msgspec.field(default_factory=TimeStats)


class NumberedIssue(msgspec.Struct):
    id: Id
    iid: Number


class DiffRefs(msgspec.Struct):
    """Commits of a merge request.

    ``base_sha`` is the merge base, ``start_sha`` the tip of the target branch.
    """

    base_sha: Sha | None = None
    head_sha: Sha | None = None
    start_sha: Sha | None = None


class MergeCommits(msgspec.Struct):
    """The fields of a merge request that lists lack. Only lists have the ids of labels."""

    diff_refs: DiffRefs | None = None


class MergeAnswer(IssueAnswer, kw_only=True):
    """A merge request in a list."""

    target_branch: str
    source_branch: str
    source_project_id: int | None = None
    target_project_id: int | None = None
    sha: Sha | None = None
    merge_commit_sha: Sha | None = None
    squash_commit_sha: Sha | None = None
    merged_at: datetime | None = None
    merge_user: UserAnswer | None = None
    merged_by: UserAnswer | None = None
    reviewers: list[UserAnswer] | None = None
    allow_collaboration: bool | None = False


class PositionAnswer(msgspec.Struct):
    """The place of a note in a diff. For an unchanged line both numbers are set, for a whole file none."""

    old_path: str | None = None
    new_path: str | None = None
    old_line: Count | None = None
    new_line: Count | None = None
    head_sha: Sha | None = None


class NoteAnswer(msgspec.Struct):
    id: Id
    created_at: datetime
    updated_at: datetime
    author: UserAnswer | None = None
    body: str | None = ""
    system: bool = False
    internal: bool = False
    confidential: bool | None = False
    position: PositionAnswer | None = None
    resolved_by: UserAnswer | None = None

    @property
    def is_text(self) -> bool:
        """True if a person wrote the note, and all readers of the issue may see it."""
        return not (self.system or self.internal or self.confidential)


class DiscussionAnswer(msgspec.Struct):
    notes: list[NoteAnswer]


class _ApprovalAnswer(msgspec.Struct):
    """An approval. Only newer versions of GitLab return its time."""

    user: UserAnswer
    approved_at: datetime | None = None


class ApprovalsAnswer(msgspec.Struct):
    approved_by: list[_ApprovalAnswer] = []


class AwardAnswer(msgspec.Struct):
    name: str
    created_at: datetime
    user: UserAnswer | None = None


class ProjectAnswer(msgspec.Struct):
    topics: list[str] | None = None
    description: str | None = ""


class _LinkAnswer(msgspec.Struct):
    name: str
    url: str


class _AssetsAnswer(msgspec.Struct):
    links: list[_LinkAnswer] = []


class ReleaseAnswer(msgspec.Struct):
    """A release. GitLab gives it no id."""

    tag_name: str
    created_at: datetime
    released_at: datetime | None = None
    name: str | None = ""
    description: str | None = ""
    author: UserAnswer | None = None
    assets: _AssetsAnswer = msgspec.field(default_factory=_AssetsAnswer)

    @property
    def id(self) -> int:
        return zlib.crc32(self.tag_name.encode())


class IssueDetails(msgspec.Struct, frozen=True):
    """An issue with its reactions, its notes, and the reactions to each note."""

    issue: IssueAnswer
    awards: list[AwardAnswer]
    notes: list[NoteAnswer]
    awards_to_notes: list[list[AwardAnswer]]

    def users(self) -> list[UserAnswer | None]:
        users = [self.issue.author, *(self.issue.assignees or ())]
        users += [one.author for one in self.notes]
        users += [one.user for group in (self.awards, *self.awards_to_notes) for one in group]
        return users


class MergeDetails(IssueDetails, frozen=True, kw_only=True):
    """A merge request. Each of ``threads`` has the notes of a place in the diff; ``notes`` has the others."""

    merge: MergeAnswer
    commits: MergeCommits
    threads: list[list[NoteAnswer]]
    approvals: ApprovalsAnswer

    def users(self) -> list[UserAnswer | None]:
        merge = self.merge
        users = [*super().users(), merge.merge_user, merge.merged_by, *(merge.reviewers or ())]
        users += [user for group in self.threads for one in group for user in (one.author, one.resolved_by)]
        return [*users, *(one.user for one in self.approvals.approved_by)]


def person_of(user: UserAnswer | None) -> ImportedPerson:
    return ImportedPerson(name=user.username, source_id=user.id) if user is not None else ImportedPerson()


def label_of(label: LabelAnswer) -> ImportedLabel:
    """Return a label. A scoped label excludes other labels of its scope."""
    return ImportedLabel(
        source_id=label.id,
        name=label.name.replace(SCOPE, "/"),
        color=label.color,
        description=label.description or "",
        exclusive=SCOPE in label.name,
        is_archived=label.archived,
    )


def milestone_of(milestone: MilestoneAnswer) -> ImportedMilestone:
    is_closed = milestone.state == "closed"
    return ImportedMilestone(
        source_id=milestone.id,
        title=milestone.title,
        description=milestone.description or "",
        state="closed" if is_closed else "open",
        due_on=_end_of(milestone.due_date),
        closed_at=milestone.updated_at if is_closed else None,
        created_at=milestone.created_at,
        updated_at=milestone.updated_at,
    )


def issue_of(details: IssueDetails) -> ImportedIssue:
    return ImportedIssue(**_fields(details.issue, details.issue.iid, details.awards))


def pull_of(details: MergeDetails, number: int) -> ImportedPull:
    """Return the pull request for a merge request. ``number`` is its number here."""
    merge, refs = details.merge, details.commits.diff_refs or DiffRefs()
    head_sha = refs.head_sha or merge.sha or NO_SHA
    merge_base = refs.base_sha or refs.start_sha or ""
    is_merged = merge.state == "merged"
    return ImportedPull(
        **_fields(merge, number, details.awards),
        reviews=[
            *(_thread_of(notes, head_sha) for notes in details.threads),
            *_approvals_of(details, head_sha),
        ],
        requests=[
            ImportedRequest(reviewer=person_of(user), commit_sha=head_sha, created_at=merge.created_at)
            for user in merge.reviewers or []
            if user.id not in {one.user.id for one in details.approvals.approved_by}
        ],
        base_branch=merge.target_branch,
        base_sha=refs.start_sha or merge_base or NO_SHA,
        head_branch=merge.source_branch,
        head_sha=head_sha,
        merge_base=merge_base or NO_SHA,
        is_from_base=merge.source_project_id == merge.target_project_id,
        merged=is_merged,
        merged_at=(merge.merged_at or merge.updated_at) if is_merged else None,
        merged_by=person_of(merge.merge_user or merge.merged_by) if is_merged else None,
        merge_sha=(merge.merge_commit_sha or merge.squash_commit_sha or head_sha) if is_merged else None,
        allow_maintainer_edit=bool(merge.allow_collaboration),
    )


def comments_of(details: IssueDetails, number: int) -> list[ImportedComment]:
    return [
        ImportedComment(
            source_id=note.id,
            number=number,
            author=person_of(note.author),
            body=note.body or "",
            created_at=note.created_at,
            updated_at=note.updated_at,
            reactions=_reactions(awards),
        )
        for note, awards in zip(details.notes, details.awards_to_notes, strict=True)
    ]


def times_of(issue: IssueAnswer, number: int) -> list[ImportedTime]:
    """Return the tracked time of an issue. The REST API has only the sum, not the users."""
    seconds = issue.time_stats.total_time_spent
    # Merge requests have ids of their own.
    source_id = -issue.id if isinstance(issue, MergeAnswer) else issue.id
    if not 0 < seconds < 2**31:
        return []
    time_spent = ImportedTime(
        source_id=source_id,
        number=number,
        author=ImportedPerson(),
        seconds=seconds,
        created_at=issue.updated_at,
    )
    return [time_spent]


def release_of(release: ReleaseAnswer, api_root: str) -> SourceRelease:
    """Return a release. Links to files of the API become files. Other links are added to its text.

    They are not files, because pages of GitLab answer a token with the sign-in page.
    """
    links = [one for one in release.assets.links if urlsplit(one.url).scheme in ("http", "https")]
    files = [one for one in links if one.url.startswith(f"{api_root}/")]
    others = [f"- [{_in_link(one.name)}](<{one.url}>)" for one in links if one not in files]
    return SourceRelease(
        author=person_of(release.author),
        tag_name=release.tag_name,
        name=release.name or "",
        body="\n".join((release.description or "", "", *others)).strip()
        if others
        else release.description or "",
        created_at=release.created_at,
        published_at=release.released_at,
        assets=[
            SourceAsset(name=one.name, url=one.url, created_at=release.created_at, version=one.url)
            for one in files
        ],
    )


def _thread_of(notes: Sequence[NoteAnswer], head_sha: str) -> ImportedReview:
    """Return a review with the notes of one place in the diff."""
    first = notes[0]
    position = first.position or PositionAnswer()
    commit_sha = position.head_sha or head_sha
    is_old = position.new_line is None and position.old_line is not None
    line = (position.old_line if is_old else position.new_line) or 1
    return ImportedReview(
        source_id=first.id,
        author=person_of(first.author),
        state="COMMENT",
        commit_sha=commit_sha,
        submitted_at=first.created_at,
        updated_at=first.updated_at,
        comments=[
            ImportedLineComment(
                source_id=note.id,
                author=person_of(note.author),
                body=note.body or "",
                path=(position.old_path if is_old else position.new_path) or "",
                old_position=line if is_old else 0,
                new_position=0 if is_old else line,
                commit_sha=commit_sha,
                resolver=person_of(note.resolved_by) if note.resolved_by is not None else None,
                created_at=note.created_at,
                updated_at=note.updated_at,
            )
            for note in notes
        ],
    )


def _approvals_of(details: MergeDetails, head_sha: str) -> list[ImportedReview]:
    """Return approvals as reviews. GitLab gives approvals no ids.

    Their ids here are negative, so no note has them.
    """
    merge = details.merge
    return [
        ImportedReview(
            source_id=-(merge.id * 2**16 + place),
            author=person_of(one.user),
            state="APPROVED",
            commit_sha=head_sha,
            submitted_at=one.approved_at or merge.updated_at,
            updated_at=one.approved_at or merge.updated_at,
        )
        for place, one in enumerate(details.approvals.approved_by)
    ]


def _fields(issue: IssueAnswer, number: int, awards: Sequence[AwardAnswer]) -> dict[str, Any]:
    is_closed = issue.state in ("closed", "merged")
    return {
        "source_id": issue.id,
        "number": number,
        "author": person_of(issue.author),
        "title": issue.title,
        "body": issue.description or "",
        "state": "closed" if is_closed else "open",
        "labels": [label.id for label in issue.labels],
        "milestone": issue.milestone.id if issue.milestone else 0,
        "assignees": [person_of(user) for user in issue.assignees or []],
        "is_locked": bool(issue.discussion_locked),
        "due_date": _end_of(issue.due_date),
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "reactions": _reactions(awards),
    }


def _reactions(awards: Sequence[AwardAnswer]) -> list[ImportedReaction]:
    return [
        ImportedReaction(author=person_of(one.user), content=CONTENTS[one.name], created_at=one.created_at)
        for one in awards
        if one.name in CONTENTS
    ]


def _end_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time(23, 59, 59), UTC) if day is not None else None


def _in_link(name: str) -> str:
    return "".join(f"\\{one}" if one in "[]\\" else one for one in " ".join(name.split()))
