"""Pages of an export: the objects of a repository in the form of an import, in the order of its kinds.

People of this server have the id of their account, and repos adds their names. People without an account here
have their name at a former source.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import BadRequest
from ingot_contracts.repos.exports import (
    ExportedPull,
    ExportPage,
    LeftOutFile,
    LeftOutReason,
    archived_file,
)
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedComment,
    ImportedDependency,
    ImportedFile,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedTime,
)
from ingot_issues.exports import store
from ingot_issues.exports.store import (
    AuthoredRow,
    CommentRow,
    FileRow,
    IssueRow,
    LineCommentRow,
    PullRow,
    ReactionRow,
    ReviewRow,
)
from ingot_issues.imports.store.placeholders import PlaceholderRow, Role
from ingot_issues.labels.store.repository import LabelRow
from ingot_issues.reviewers.store.states import ReviewState

EXPORT = "export"
"""The kind of export jobs."""
EXPORT_LABELS = "export_labels"
"""The kind of jobs that send the labels of an organization."""
MOST_LABELS = 10_000
"""Limit of the labels of an organization, which one request has."""
KINDS = ("labels", "milestones", "issues", "pulls", "comments", "times", "dependencies")
PAGE_OBJECTS = 100
PULL_OBJECTS = 20
"""Pull requests of a page: each may have many reviews and comments."""
PAGE_BYTES = 8 * 1024 * 1024
"""A page ends behind the object with which it gets larger."""
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_T = TypeVar("_T")


class SendPages(msgspec.Struct, frozen=True, kw_only=True):
    """A job that sends the pages of the export called ``name``."""

    repository_id: int
    name: str


class SendLabels(msgspec.Struct, frozen=True, kw_only=True):
    """A job that sends the labels of an organization for its export called ``name``."""

    organization_id: int
    name: str


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The place of a page: its kind, and the id or number of the last object on the previous page.

    For dependencies, the last object is a pair of numbers: ``after`` is blocked by ``after_blocker``.
    """

    kind: int = 0
    after: int = 0
    after_blocker: int = 0


class ReadPage(NamedTuple):
    """A page, and the rows of the files of its texts by their uuids."""

    page: ExportPage
    files: Mapping[str, FileRow]


async def read_page(db: Executor, repository_id: int, name: str, text: str, *, owner_id: int = 0) -> ReadPage:
    """Return the page at a cursor. A page without objects ends its kind. Raises BadRequest.

    ``text`` is the cursor; empty for the first page. ``owner_id`` is the account that owns the repository;
    0 if repos runs an older release.
    """
    try:
        cursor = msgspec.json.decode(text, type=Cursor) if text else Cursor()
        kind = KINDS[cursor.kind]
    except (msgspec.MsgspecError, IndexError):
        raise BadRequest("the cursor is invalid") from None
    files = dict[str, FileRow]()
    objects, positions = await _read(db, repository_id, kind, cursor, owner_id, files)
    count = _count_within(objects)
    if count:
        after, after_blocker = positions[count - 1]
        following: Cursor | None = Cursor(cursor.kind, after, after_blocker)
    else:
        following = Cursor(cursor.kind + 1) if cursor.kind + 1 < len(KINDS) else None
    lists: dict[str, Any] = {kind: objects[:count]}
    page = ExportPage(
        name=name,
        cursor=text,
        following=msgspec.json.encode(following).decode() if following is not None else "",
        **lists,
    )
    return ReadPage(page, {uuid: files[uuid] for _, uuid in files_of_texts(page)})


def _count_within(objects: Sequence[msgspec.Struct]) -> int:
    """Return the number of objects for a page.

    The page ends after the object with which it exceeds ``PAGE_BYTES``.
    """
    size = 0
    for count, one in enumerate(objects, 1):
        size += len(msgspec.json.encode(one))
        if size > PAGE_BYTES:
            return count
    return len(objects)


async def _read(
    db: Executor, repository_id: int, kind: str, cursor: Cursor, owner_id: int, files: dict[str, FileRow]
) -> tuple[Sequence[Any], list[tuple[int, int]]]:
    """Return the objects after a cursor, and their places: an id or number, and a blocker or 0.

    Add the files of their texts to ``files``.
    """
    after = cursor.after
    if kind == "labels":
        labels = await store.list_labels(db, repository_id, owner_id, after, PAGE_OBJECTS)
        return [label_of(row) for row in labels], [(row.id, 0) for row in labels]
    if kind == "milestones":
        milestones = await store.list_milestones(db, repository_id, after, PAGE_OBJECTS)
        return [_milestone(row) for row in milestones], [(row.id, 0) for row in milestones]
    if kind == "issues":
        issues = await store.list_issues(db, repository_id, after, PAGE_OBJECTS)
        people = await _absent_people(db, [row.id for row in issues])
        fields = await _fields_of(db, issues, people, files)
        return [ImportedIssue(**fields[row.id]) for row in issues], [(row.number, 0) for row in issues]
    if kind == "pulls":
        pulls = await store.list_pulls(db, repository_id, after, PULL_OBJECTS)
        return await _pulls(db, pulls, files), [(row.number, 0) for row in pulls]
    if kind == "comments":
        comments = await store.list_comments(db, repository_id, after, PAGE_OBJECTS)
        return await _comments(db, comments, files), [(row.id, 0) for row in comments]
    return await _read_numbered(db, repository_id, kind, cursor)


async def _read_numbered(
    db: Executor, repository_id: int, kind: str, cursor: Cursor
) -> tuple[Sequence[Any], list[tuple[int, int]]]:
    """Return times or dependencies after a cursor, and their places, as in ``_read``."""
    after = cursor.after
    if kind == "times":
        times = await store.list_times(db, repository_id, after, PAGE_OBJECTS)
        people = await _absent_people_of(db, Role.TIME, times)
        return [_time(row, people) for row in times], [(row.id, 0) for row in times]
    pairs = await store.list_dependencies(db, repository_id, after, cursor.after_blocker, PAGE_OBJECTS)
    objects = [ImportedDependency(number=row.number, blocker=row.blocker) for row in pairs]
    return objects, [(row.number, row.blocker) for row in pairs]


def label_of(row: LabelRow) -> ImportedLabel:
    return ImportedLabel(
        source_id=row.id,
        name=row.name,
        color=row.color,
        description=row.description,
        exclusive=row.exclusive,
        is_archived=row.is_archived,
    )


def _milestone(row: store.MilestoneRow) -> ImportedMilestone:
    created_at = row.created_at or row.updated_at or row.closed_at or _NO_TIME
    return ImportedMilestone(
        source_id=row.id,
        title=row.title,
        description=row.description,
        state="closed" if row.state == "closed" else "open",
        due_on=row.due_on,
        closed_at=row.closed_at,
        created_at=created_at,
        updated_at=row.updated_at or created_at,
    )


def _time(row: store.TimeRow, people: "_AbsentPeople") -> ImportedTime:
    return ImportedTime(
        source_id=row.id,
        number=row.number,
        author=people.of_row(Role.TIME, row.id, row.account_id),
        seconds=row.seconds,
        created_at=row.created_at,
    )


def _account(account_id: int) -> ImportedPerson:
    return ImportedPerson(account_id=account_id)


class _AbsentPeople:
    """Actions of people without an account here on some issues.

    The people are named by their logins at a former source.
    """

    def __init__(self, rows: Sequence[PlaceholderRow]) -> None:
        self._names = {(row.role, row.row_id): row.person for row in rows if row.row_id}
        self._of_issues = _grouped((row.issue_id, row) for row in rows)

    def of_row(self, role: Role, row_id: int, account_id: int) -> ImportedPerson:
        """Return the person of a row. The ghost gets the login at the former source, if it is known."""
        name = self._names.get((role, row_id), "") if account_id == GHOST_ID else ""
        return ImportedPerson(account_id=account_id, name=name)

    def assignees(self, issue_id: int) -> list[ImportedPerson]:
        rows = self._of_issues[issue_id]
        return [ImportedPerson(name=row.person) for row in rows if row.role == Role.ASSIGNEE]

    def requests(self, issue_id: int) -> list[ImportedRequest]:
        rows = [row for row in self._of_issues[issue_id] if row.role == Role.REVIEWER and row.details]
        details = [(row.person, msgspec.json.decode(row.details or "", type=_Request)) for row in rows]
        return [
            ImportedRequest(
                reviewer=ImportedPerson(name=person),
                commit_sha=one.commit_sha,
                created_at=one.submitted_at,
            )
            for person, one in details
        ]


class _Request(msgspec.Struct):
    """The columns of a request for a review, as they are stored in a placeholder."""

    commit_sha: str
    submitted_at: datetime


async def _absent_people(db: Executor, issue_ids: Collection[int]) -> _AbsentPeople:
    return _AbsentPeople(await store.placeholders_of(db, issue_ids) if issue_ids else ())


async def _absent_people_of(
    db: Executor, role: Role, rows: Sequence[ReactionRow | store.TimeRow]
) -> _AbsentPeople:
    """Return the people of reactions or times. An issue may have many more of them than a page."""
    absent = [row for row in rows if row.account_id == GHOST_ID]
    if not absent:
        return _AbsentPeople(())
    issue_ids = {row.issue_id for row in absent}
    return _AbsentPeople(await store.placeholders_of_rows(db, role, issue_ids, [row.id for row in absent]))


def _author(row: AuthoredRow) -> ImportedPerson:
    """Return the author: an account, and the author at a former source."""
    return ImportedPerson(
        account_id=row.author_id, name=row.original_author, source_id=row.original_author_id
    )


def _file(row: FileRow) -> ImportedFile:
    address = archived_file(row.sha256)
    return ImportedFile(uuid=row.uuid, address=address, name=row.name, created_at=row.created_at)


def files_of_texts(page: ExportPage) -> list[tuple[int, str]]:
    """Return the files of all texts of a page: the number of the issue, and the uuid of the file."""
    comments = [*page.comments, *(text for pull in page.pulls for text in pull.comments)]
    texts: list[ImportedIssue | ImportedComment] = [*page.issues, *page.pulls, *comments]
    return [(one.number, file.uuid) for one in texts for file in one.files]


def left_out_of(read: ReadPage, reasons: Mapping[str, LeftOutReason]) -> list[LeftOutFile]:
    """Return the files of a page that were not sent. ``reasons`` has the reasons by the hashes of files."""
    rows = [(number, read.files[uuid]) for number, uuid in files_of_texts(read.page)]
    return [
        LeftOutFile(number=number, name=row.name, size=row.size, reason=reasons[row.sha256])
        for number, row in rows
        if row.sha256 in reasons
    ]


def _reaction(row: ReactionRow, people: _AbsentPeople) -> ImportedReaction:
    author = people.of_row(Role.REACTION, row.id, row.account_id)
    return ImportedReaction(author=author, content=row.content, created_at=row.created_at)


async def _fields_of(
    db: Executor, rows: Sequence[IssueRow], people: _AbsentPeople, attachments: dict[str, FileRow]
) -> dict[int, dict[str, Any]]:
    """Return the fields that issues and pull requests have in common, by the id of their rows.

    Add their files to ``attachments``.
    """
    ids = [row.id for row in rows]
    labels = _grouped((one.issue_id, one.label_id) for one in await store.labels_of(db, ids))
    assignees = _grouped((one.issue_id, one.account_id) for one in await store.assignees_of(db, ids))
    reactions = _grouped(
        (one.issue_id, _reaction(one, people)) for one in await store.reactions_to_issues(db, ids)
    )
    attached = await store.files_of_issues(db, ids)
    attachments |= {one.uuid: one for one in attached}
    files = _grouped((one.issue_id, _file(one)) for one in attached)
    return {
        row.id: {
            "source_id": row.id,
            "number": row.number,
            "author": _author(row),
            "title": row.title,
            "body": row.body,
            "state": "closed" if row.state == "closed" else "open",
            "ref": row.ref,
            "labels": labels[row.id],
            "milestone": row.milestone_id or 0,
            "assignees": [*(_account(one) for one in assignees[row.id]), *people.assignees(row.id)],
            "is_locked": row.locked,
            "pin_order": row.pin_order,
            "due_date": row.due_date,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "closed_at": row.closed_at,
            "reactions": reactions[row.id],
            "files": files[row.id],
        }
        for row in rows
    }


def _grouped(pairs: Iterable[tuple[int, _T]]) -> Mapping[int, list[_T]]:
    groups = defaultdict[int, list[_T]](list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


async def _comments(
    db: Executor, rows: Sequence[CommentRow], attachments: dict[str, FileRow]
) -> list[ImportedComment]:
    """Return comments, and add their files to ``attachments``."""
    ids = [row.id for row in rows]
    rows_of_reactions = await store.reactions_to_comments(db, ids)
    people = await _absent_people_of(db, Role.REACTION, rows_of_reactions)
    reactions = _grouped((one.comment_id or 0, _reaction(one, people)) for one in rows_of_reactions)
    attached = await store.files_of_comments(db, ids)
    attachments |= {one.uuid: one for one in attached}
    files = _grouped((one.comment_id or 0, _file(one)) for one in attached)
    return [
        ImportedComment(
            source_id=row.id,
            number=row.number,
            author=_author(row),
            body=row.body,
            created_at=row.created_at,
            updated_at=row.updated_at,
            reactions=reactions[row.id],
            files=files[row.id],
        )
        for row in rows
    ]


async def _pulls(
    db: Executor, rows: Sequence[PullRow], attachments: dict[str, FileRow]
) -> list[ExportedPull]:
    """Return pull requests, and add the files of their texts to ``attachments``."""
    ids = [row.id for row in rows]
    people = await _absent_people(db, ids)
    fields = await _fields_of(db, rows, people, attachments)
    texts = await _comments(db, await store.comments_of(db, ids), attachments)
    comments = _grouped((one.number, one) for one in texts)
    reviews = await store.reviews_of(db, ids)
    submitted = [one for one in reviews if one.state != ReviewState.REQUEST_REVIEW]
    lines = _grouped(
        (one.review_id, _line_comment(one, people))
        for one in await store.line_comments_of(db, [one.id for one in submitted])
    )
    of_pulls = _grouped((one.issue_id, _review(one, lines[one.id])) for one in submitted)
    requests = _grouped(
        (one.issue_id, _request(one)) for one in reviews if one.state == ReviewState.REQUEST_REVIEW
    )
    return [
        ExportedPull(
            base_branch=row.base_branch,
            base_sha=row.base_sha,
            head_branch=row.head_branch,
            head_sha=row.head_sha,
            merge_base=row.merge_base,
            is_from_base=row.head_repository_id == row.repository_id,
            merged=row.merged,
            merged_at=row.merged_at,
            merged_by=ImportedPerson(account_id=row.merged_by, name=row.original_merger)
            if row.merged_by is not None
            else None,
            merge_sha=row.merge_sha,
            allow_maintainer_edit=row.allow_maintainer_edit,
            additions=row.additions,
            deletions=row.deletions,
            changed_files=row.changed_files,
            reviews=of_pulls[row.id],
            requests=[*requests[row.id], *people.requests(row.id)],
            comments=comments[row.number],
            **fields[row.id],
        )
        for row in rows
    ]


def _review(row: ReviewRow, comments: list[ImportedLineComment]) -> ImportedReview:
    return ImportedReview(
        source_id=row.id,
        author=_author(row),
        state=_STATES[row.state],
        body=row.body,
        commit_sha=row.commit_sha,
        dismissed=row.dismissed,
        submitted_at=row.submitted_at,
        updated_at=row.updated_at,
        comments=comments,
    )


_STATES: Mapping[str, Any] = {name: name for name in ("APPROVED", "COMMENT", "REQUEST_CHANGES")}


def _request(row: ReviewRow) -> ImportedRequest:
    return ImportedRequest(
        reviewer=_account(row.author_id), commit_sha=row.commit_sha, created_at=row.submitted_at
    )


def _line_comment(row: LineCommentRow, people: _AbsentPeople) -> ImportedLineComment:
    resolver = None
    if row.resolver_id is not None:
        resolver = people.of_row(Role.RESOLVER, row.id, row.resolver_id)
    return ImportedLineComment(
        source_id=row.id,
        author=_author(row),
        body=row.body,
        path=row.path,
        old_position=row.old_position,
        new_position=row.new_position,
        commit_sha=row.commit_sha,
        diff_hunk=row.diff_hunk,
        resolver=resolver,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
