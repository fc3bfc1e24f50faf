"""SQL for new issues, and for issues and pull requests with all fields of responses in one statement.

Lists are in ``lists``. SQL for changes, and for use cases without a response, is in ``records.store.issues``.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, case, literal_column, select

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts.store import PERSON_COLUMNS, Person, account
from ingot_issues.attachments.store import FILES_OF_ISSUE
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.labels.store.repository import LabelOnIssue
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.milestones.store import milestone
from ingot_issues.records.store.json_rows import JsonRows
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull
from ingot_issues.repositories.store.copies import repository_of
from ingot_issues.repositories.store.tables import repository
from ingot_issues.reviewers.store.requested import (
    LINE_COMMENTS,
    REVIEWERS_JSON,
    RequestedReviewer,
    requested_reviewers,
)


class Assignee(NamedTuple):
    """An assignee of an issue. Fields of the account are None if the account is deleted."""

    position: int
    id: int
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None
    profile: str | None

    @property
    def person(self) -> Person | None:
        """Return the account, or None if the account is deleted."""
        return _person(self.id, self.login, self.full_name, self.email, self.avatar_url, self.profile)


class IssueDetails(msgspec.Struct, frozen=True, gc=False):
    """An issue with all fields of responses. They are the columns of ``DETAILS``, in this order.

    Fields ``milestone_…`` are None without a milestone. Fields of a person are None if the account is
    deleted. ``viewer_…`` is an additional account that the caller requested. In a list, ``total`` is the
    number of all rows. The class is a struct because presenters read every field, and structs are the
    fastest.
    """

    id: int
    repository_id: int
    number: int
    is_pull: bool
    author_id: int
    title: str
    body: str
    state: State
    milestone_id: int | None
    comments: int
    locked: bool
    pin_order: int
    due_date: datetime | None
    ref: str
    content_version: int
    created_at: datetime
    updated_at: datetime
    pull_id: int | None = None
    base_branch: str | None = None
    base_sha: str | None = None
    head_repository_id: int | None = None
    head_branch: str | None = None
    head_sha: str | None = None
    merge_base: str | None = None
    mergeable: bool | None = None
    merged: bool | None = None
    original_merger: str | None = None
    takes_branch: bool | None = None
    allow_maintainer_edit: bool | None = None
    merged_at: datetime | None = None
    merged_by: int | None = None
    merge_sha: str | None = None
    additions: int | None = None
    deletions: int | None = None
    changed_files: int | None = None
    head_view: bytes | None = None
    closed_at: datetime | None = None
    milestone_title: str | None = None
    milestone_description: str | None = None
    milestone_state: State | None = None
    milestone_due_on: datetime | None = None
    milestone_closed_at: datetime | None = None
    milestone_open_issues: int | None = None
    milestone_closed_issues: int | None = None
    milestone_created_at: datetime | None = None
    milestone_updated_at: datetime | None = None
    labels_json: str = "[]"
    assignees_json: str = "[]"
    reviewers_json: str = "[]"
    files_json: str = "[]"
    review_comments: int = 0
    author_login: str | None = None
    author_full_name: str | None = None
    author_email: str | None = None
    author_avatar_url: str | None = None
    author_profile: str | None = None
    merger_login: str | None = None
    merger_full_name: str | None = None
    merger_email: str | None = None
    merger_avatar_url: str | None = None
    merger_profile: str | None = None
    viewer_id: int | None = None
    viewer_login: str | None = None
    viewer_full_name: str | None = None
    viewer_email: str | None = None
    viewer_avatar_url: str | None = None
    viewer_profile: str | None = None
    original_author: str = ""
    original_author_id: int = 0
    total: int = 0

    @property
    def labels(self) -> Sequence[LabelOnIssue]:
        """Return the labels, sorted by name."""
        return _labels(self.labels_json) if self.labels_json != "[]" else ()

    @property
    def assignees(self) -> Sequence[Assignee]:
        """Return the assignees, in the order of the request."""
        return _assignees(self.assignees_json) if self.assignees_json != "[]" else ()

    @property
    def author(self) -> Person | None:
        """Return the author, or None if the account is deleted."""
        return _person(
            self.author_id,
            self.author_login,
            self.author_full_name,
            self.author_email,
            self.author_avatar_url,
            self.author_profile,
        )

    @property
    def viewer(self) -> Person | None:
        """Return the account that was passed to the query, or None if it is deleted."""
        return _person(
            self.viewer_id,
            self.viewer_login,
            self.viewer_full_name,
            self.viewer_email,
            self.viewer_avatar_url,
            self.viewer_profile,
        )

    @property
    def assignee_ids(self) -> list[int]:
        """Return the ids of the assignees, in the order of the request."""
        return [assignee.id for assignee in self.assignees]


class PullDetails(IssueDetails, frozen=True, gc=False):
    """The details of a pull request. Required columns of ``pull`` are not optional here."""

    pull_id: int
    base_branch: str
    base_sha: str
    head_repository_id: int
    head_branch: str
    head_sha: str
    merge_base: str
    mergeable: bool
    merged: bool
    original_merger: str
    takes_branch: bool
    allow_maintainer_edit: bool

    @property
    def requested_reviewers(self) -> Sequence[RequestedReviewer]:
        """Return the requested reviewers, in the order of the requests."""
        return requested_reviewers(self.reviewers_json) if self.reviewers_json != "[]" else ()

    @property
    def merger(self) -> Person | None:
        """Return the account that merged the pull request, or None if the account is deleted."""
        return _person(
            self.merged_by,
            self.merger_login,
            self.merger_full_name,
            self.merger_email,
            self.merger_avatar_url,
            self.merger_profile,
        )

    @property
    def head_repository(self) -> Repository | None:
        """Return the copy of the head's repository, or None if it is the base repository."""
        return repository_of(self.head_view) if self.head_view is not None else None


class DetailsRow(TypedRow):
    """A row of ``DETAILS``: the values of the fields of ``IssueDetails``, in their order."""

    is_pull: bool

    def __iter__(self) -> Iterator[object]:
        raise NotImplementedError


class InsertedRow(TypedRow):
    """The result of the INSERT of an issue: its id, and the author as a JSON array of rows."""

    id: int
    author_json: str


_DECODED = 512
"""Maximum number of cached decoded texts. Many issues of a list have equal people and labels."""
_LABELS_DECODER = msgspec.json.Decoder(list[LabelOnIssue], strict=False)
"""A decoder of labels. SQLite writes booleans as numbers."""
_ASSIGNEES_DECODER = msgspec.json.Decoder(list[Assignee])
_PEOPLE_DECODER = msgspec.json.Decoder(list[Person])


def details_of(row: DetailsRow) -> IssueDetails:
    return PullDetails(*row) if row.is_pull else IssueDetails(*row)


def _person(
    account_id: int | None,
    login: str | None,
    full_name: str | None,
    email: str | None,
    avatar_url: str | None,
    profile: str | None,
) -> Person | None:
    if account_id is None or login is None:
        return None
    return Person(account_id, login, full_name or "", email or "", avatar_url or "", profile)


@lru_cache(_DECODED)
def _labels(text: str) -> tuple[LabelOnIssue, ...]:
    return tuple(sorted(_LABELS_DECODER.decode(text), key=lambda label: (label.name.lower(), label.id)))


@lru_cache(_DECODED)
def _assignees(text: str) -> tuple[Assignee, ...]:
    return tuple(sorted(_ASSIGNEES_DECODER.decode(text)))


_HEAD = repository.alias("head")
_AUTHOR, _MERGER, _VIEWER = account.alias("author"), account.alias("merger"), account.alias("viewer")
_LABELS_JSON = (
    select(JsonRows(*(label.c[name] for name in LabelOnIssue._fields)))
    .select_from(issue_label.join(label, label.c.id == issue_label.c.label_id))
    .where(issue_label.c.issue_id == issue.c.id)
    .correlate(issue)
    .scalar_subquery()
)
_ASSIGNEES_JSON = (
    select(JsonRows(assignee.c.position, assignee.c.account_id, *PERSON_COLUMNS[1:]))
    .select_from(assignee.outerjoin(account, account.c.id == assignee.c.account_id))
    .where(assignee.c.issue_id == issue.c.id)
    .correlate(issue)
    .scalar_subquery()
)
_NO_ROWS: ColumnElement[str] = literal_column("'[]'")
_COLUMNS: dict[str, ColumnElement[Any]] = {
    **{column.name: column for column in pull.c},
    **{column.name: column for column in issue.c},
    **{f"milestone_{column.name}": column.label(f"milestone_{column.name}") for column in milestone.c},
    "milestone_id": issue.c.milestone_id,
    "pull_id": pull.c.id.label("pull_id"),
    "head_view": _HEAD.c.view.label("head_view"),
    "labels_json": _LABELS_JSON.label("labels_json"),
    "assignees_json": _ASSIGNEES_JSON.label("assignees_json"),
    "reviewers_json": case((issue.c.is_pull, REVIEWERS_JSON), else_=_NO_ROWS).label("reviewers_json"),
    "files_json": FILES_OF_ISSUE.label("files_json"),
    "review_comments": LINE_COMMENTS.label("review_comments"),
    **{
        f"{person.name}_{name}": person.c[name].label(f"{person.name}_{name}")
        for person in (_AUTHOR, _MERGER, _VIEWER)
        for name in Person._fields
    },
    "author_id": issue.c.author_id,
}
"""Columns by the names of the fields of ``IssueDetails``."""

DETAILS = (
    select(*(_COLUMNS[name] for name in IssueDetails.__struct_fields__ if name != "total"))
    .outerjoin(pull, pull.c.issue_id == issue.c.id)
    .outerjoin(_AUTHOR, _AUTHOR.c.id == issue.c.author_id)
    .outerjoin(_MERGER, _MERGER.c.id == pull.c.merged_by)
    .outerjoin(_VIEWER, _VIEWER.c.id == bindparam("viewer", type_=BigId))
    .outerjoin(milestone, milestone.c.id == issue.c.milestone_id)
    .outerjoin(_HEAD, and_(_HEAD.c.id == pull.c.head_repository_id, _HEAD.c.id != issue.c.repository_id))
)
"""The rows of ``IssueDetails``; the parameter ``viewer`` is the account of ``viewer_…``."""

_HAS_NUMBER = (
    issue.c.repository_id == bindparam("repository_id", type_=BigId),
    issue.c.number == bindparam("number", type_=BigId),
)
_DETAILS_BY_NUMBER = PreparedQuery(DETAILS.where(*_HAS_NUMBER), DetailsRow)
_DETAILS_BY_NUMBERS = PreparedQuery(
    DETAILS.where(
        issue.c.repository_id == bindparam("repository_id", type_=BigId), any_of(issue.c.number, "numbers")
    ),
    DetailsRow,
)
_DETAILS_BY_ID = PreparedQuery(DETAILS.where(issue.c.id == bindparam("issue_id", type_=BigId)), DetailsRow)


async def get_details(db: Executor, repository_id: int, number: int) -> IssueDetails | None:
    row = await _DETAILS_BY_NUMBER.first(db, repository_id=repository_id, number=number, viewer=0)
    return details_of(row) if row is not None else None


async def list_by_numbers(
    db: Executor, repository_id: int, numbers: Sequence[int], *, is_pull: bool
) -> list[IssueDetails]:
    """Return the existing issues with these numbers; with ``is_pull``, the pull requests."""
    rows = await _DETAILS_BY_NUMBERS.all(db, repository_id=repository_id, numbers=list(numbers), viewer=0)
    return [details_of(row) for row in rows if row.is_pull == is_pull]


async def get_details_by_id(db: Executor, issue_id: int, viewer: int = 0) -> IssueDetails | None:
    """Return an issue, or None. The fields ``viewer_…`` have the account ``viewer``."""
    row = await _DETAILS_BY_ID.first(db, issue_id=issue_id, viewer=viewer)
    return details_of(row) if row is not None else None


_INSERTED_COLUMNS = (
    *("repository_id", "number", "is_pull", "author_id", "title", "body", "state", "milestone_id"),
    *("due_date", "ref", "created_at", "updated_at"),
)
_AUTHOR_JSON = select(JsonRows(*PERSON_COLUMNS)).where(account.c.id == bindparam("author", type_=BigId))
_ADD = PreparedWrite(
    issue.insert()
    .values({name: bindparam(name) for name in _INSERTED_COLUMNS})
    .returning(issue.c.id, _AUTHOR_JSON.scalar_subquery().label("author_json"))
)


async def add(db: Executor, **values: Any) -> IssueDetails:
    """Insert an issue without labels and assignees.

    The returned details lack the milestone and the pull request.
    """
    moment = now()
    values |= {"created_at": moment, "updated_at": moment}
    row = await _ADD.first(db, InsertedRow, **values, author=values["author_id"])
    if row is None:
        raise LookupError("the INSERT of an issue returned nothing")
    for person in _PEOPLE_DECODER.decode(row.author_json):
        values |= {
            "author_login": person.login,
            "author_full_name": person.full_name,
            "author_email": person.email,
            "author_avatar_url": person.avatar_url,
            "author_profile": person.profile,
        }
    fixed = {"id": row.id, "comments": 0, "locked": False, "pin_order": 0, "content_version": 0}
    return IssueDetails(**values | fixed)
