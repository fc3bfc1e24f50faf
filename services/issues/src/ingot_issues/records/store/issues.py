"""SQL for the rows of issues and pull requests, for decisions and changes.

``issues.store.details`` reads the fields for responses. ``pulls.store`` changes the columns of ``pull``.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sqlalchemy import Integer, bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull


class AnyIssue(Protocol):
    """An issue or pull request: a row, or details for a response."""

    @property
    def id(self) -> int: ...

    @property
    def repository_id(self) -> int: ...

    @property
    def number(self) -> int: ...

    @property
    def is_pull(self) -> bool: ...

    @property
    def author_id(self) -> int: ...

    @property
    def title(self) -> str: ...

    @property
    def body(self) -> str: ...

    @property
    def state(self) -> State: ...

    @property
    def milestone_id(self) -> int | None: ...

    @property
    def locked(self) -> bool: ...


class AnyPull(AnyIssue, Protocol):
    """A pull request: a row, or details for a response."""

    @property
    def pull_id(self) -> int: ...

    @property
    def base_branch(self) -> str: ...

    @property
    def base_sha(self) -> str: ...

    @property
    def head_repository_id(self) -> int: ...

    @property
    def head_branch(self) -> str: ...

    @property
    def head_sha(self) -> str: ...

    @property
    def merge_base(self) -> str: ...

    @property
    def mergeable(self) -> bool: ...

    @property
    def merged(self) -> bool: ...

    @property
    def takes_branch(self) -> bool: ...

    @property
    def additions(self) -> int | None: ...

    @property
    def deletions(self) -> int | None: ...

    @property
    def changed_files(self) -> int | None: ...


class IssueRow(TypedRow):
    """An issue or pull request, with the columns that both have."""

    id: int
    repository_id: int
    number: int
    is_pull: bool
    author_id: int
    title: str
    body: str
    state: State
    milestone_id: int | None
    locked: bool
    due_date: datetime | None
    ref: str
    content_version: int


class PullRow(IssueRow):
    """A pull request with its issue."""

    pull_id: int
    base_branch: str
    base_sha: str
    head_repository_id: int
    head_branch: str
    head_sha: str
    merge_base: str
    mergeable: bool
    merged: bool
    takes_branch: bool
    additions: int | None
    deletions: int | None
    changed_files: int | None


class IssueIdRow(TypedRow):
    """The id of an existing issue."""

    id: int


class IssueKeyRow(TypedRow):
    """The key of an issue, for reading its related rows."""

    id: int
    is_pull: bool


class MilestoneIdRow(TypedRow):
    """The milestone of an issue."""

    milestone_id: int | None


_HAS_ID = issue.c.id == bindparam("issue_id", type_=BigId)
_ROWS = select(*(issue.c[name] for name in IssueRow.__annotations__))
_PULLS = select(
    *(issue.c[name] for name in IssueRow.__annotations__),
    pull.c.id.label("pull_id"),
    *(pull.c[name] for name in PullRow.__annotations__ if name != "pull_id"),
).join(pull, pull.c.issue_id == issue.c.id)
_HAS_NUMBER = (
    issue.c.repository_id == bindparam("repository_id", type_=BigId),
    issue.c.number == bindparam("number", type_=BigId),
)
_BY_NUMBER = PreparedQuery(_ROWS.where(*_HAS_NUMBER), IssueRow)
_PULL_BY_NUMBER = PreparedQuery(_PULLS.where(*_HAS_NUMBER), PullRow)
_KEY_BY_NUMBER = PreparedQuery(select(issue.c.id, issue.c.is_pull).where(*_HAS_NUMBER), IssueKeyRow)
_BY_ID = PreparedQuery(_ROWS.where(_HAS_ID), IssueRow)
_EXISTS = PreparedQuery(select(issue.c.id).where(_HAS_ID), IssueIdRow)
_PULL_BY_ID = PreparedQuery(_PULLS.where(_HAS_ID), PullRow)


async def get(db: Executor, repository_id: int, number: int) -> IssueRow | None:
    return await _BY_NUMBER.first(db, repository_id=repository_id, number=number)


async def get_key(db: Executor, repository_id: int, number: int) -> IssueKeyRow | None:
    return await _KEY_BY_NUMBER.first(db, repository_id=repository_id, number=number)


async def get_by_id(db: Executor, issue_id: int) -> IssueRow | None:
    return await _BY_ID.first(db, issue_id=issue_id)


async def exists(db: Executor, issue_id: int) -> bool:
    return await _EXISTS.first(db, issue_id=issue_id) is not None


async def get_pull(db: Executor, repository_id: int, number: int) -> PullRow | None:
    return await _PULL_BY_NUMBER.first(db, repository_id=repository_id, number=number)


async def get_pull_by_id(db: Executor, issue_id: int) -> PullRow | None:
    return await _PULL_BY_ID.first(db, issue_id=issue_id)


async def list_open_pulls(db: Executor, ids: Sequence[int]) -> Sequence[PullRow]:
    """Return the open pull requests among these issues, by id."""
    statement = _PULLS.where(issue.c.id.in_(ids), issue.c.state == State.OPEN).order_by(issue.c.id)
    return await fetch_all(db, statement, PullRow)


_CHANGE = update(issue).where(_HAS_ID)


async def change(db: Executor, issue_id: int, values: dict[str, object] | None = None) -> None:
    """Update an issue, and set its ``updated_at`` to now."""
    await db.execute(_CHANGE, {"issue_id": issue_id, "updated_at": now(), **(values or {})})


_COUNT_COMMENTS = _CHANGE.values(
    comments=issue.c.comments + bindparam("difference", type_=Integer), updated_at=bindparam("updated_at")
)


async def count_comments(db: Executor, issue_id: int, difference: int) -> bool:
    """Add to the comment count of an issue. Return False if it is deleted."""
    values = {"issue_id": issue_id, "updated_at": now(), "difference": difference}
    return (await db.execute(_COUNT_COMMENTS, values)).rowcount > 0


async def remove(db: Executor, issue_id: int) -> None:
    """Delete an issue and its related rows. The caller must delete the timeline first."""
    await db.execute(delete(issue).where(issue.c.id == issue_id))


_CLOSE = PreparedWrite(
    update(issue)
    .where(_HAS_ID, issue.c.state == State.OPEN.value)
    .values(state=State.CLOSED.value, closed_at=bindparam("moment"), updated_at=bindparam("moment"))
    .returning(issue.c.milestone_id)
)


async def close(db: Executor, issue_id: int) -> MilestoneIdRow | None:
    """Close an open issue. Return its milestone, or None if it was already closed."""
    return await _CLOSE.first(db, MilestoneIdRow, issue_id=issue_id, moment=now())


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the issues of a repository."""
    await db.execute(delete(issue).where(issue.c.repository_id == repository_id))
