"""SQL for repeated imports: reads and changes of imported rows."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, get_type_hints

from sqlalchemy import ColumnElement, Select, Table, delete, func, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.imports import GHOST_ID
from ingot_issues.dependencies.store import dependency
from ingot_issues.imports.store.objects import IssueRow, ObjectKind, imported_object
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.milestones.store import milestone
from ingot_issues.reactions.store import reaction
from ingot_issues.records.store.tables import comment, issue, pull
from ingot_issues.reviewers.store.tables import review, review_comment
from ingot_issues.times.store.tracked import tracked_time

TABLES: Mapping[ObjectKind, Table] = {
    ObjectKind.LABEL: label,
    ObjectKind.MILESTONE: milestone,
    ObjectKind.ISSUE: issue,
    ObjectKind.PULL: issue,
    ObjectKind.COMMENT: comment,
    ObjectKind.REVIEW: review,
    ObjectKind.TIME: tracked_time,
    ObjectKind.LINE: review_comment,
}


class Record(NamedTuple):
    """An imported object. ``base`` is JSON, or None in imports of earlier releases."""

    source_id: int
    local_id: int
    base: str | None


class _RecordRow(TypedRow):
    """The columns of a ``Record``."""

    source_id: int
    local_id: int
    base: str | None


class _LabelRow(TypedRow):
    """The columns of a label that an import writes."""

    id: int
    name: str
    color: str
    description: str
    exclusive: bool
    is_archived: bool


class _MilestoneRow(TypedRow):
    """The columns of a milestone that an import writes."""

    id: int
    title: str
    description: str
    state: str
    closed_at: datetime | None
    due_on: datetime | None
    updated_at: datetime | None


class _IssueRow(TypedRow):
    """The columns of an issue that an import writes."""

    id: int
    title: str
    body: str
    state: str
    closed_at: datetime | None
    milestone_id: int | None
    due_date: datetime | None
    locked: bool
    updated_at: datetime


class _PullRow(_IssueRow):
    """The columns of a pull request that an import writes."""

    base_branch: str
    base_sha: str
    head_sha: str
    merge_base: str
    additions: int | None
    deletions: int | None
    changed_files: int | None
    merged: bool
    merged_at: datetime | None
    merged_by: int | None
    original_merger: str
    merge_sha: str | None


class _CommentRow(TypedRow):
    """The columns of a comment that an import writes."""

    id: int
    body: str
    updated_at: datetime


class _ReviewRow(TypedRow):
    """The columns of a review that an import changes."""

    id: int
    dismissed: bool


_ROWS: Mapping[ObjectKind, type[TypedRow]] = {
    ObjectKind.LABEL: _LabelRow,
    ObjectKind.MILESTONE: _MilestoneRow,
    ObjectKind.ISSUE: _IssueRow,
    ObjectKind.PULL: _PullRow,
    ObjectKind.COMMENT: _CommentRow,
    ObjectKind.REVIEW: _ReviewRow,
}


class LineCommentRow(TypedRow):
    """A comment on a line, with the columns that identify it, and the columns that may change."""

    id: int
    review_id: int
    body: str
    resolver_id: int | None
    original_author: str
    original_author_id: int
    diff_hunk: str
    created_at: datetime


class _NameRow(TypedRow):
    """The id of a label or milestone, and its name in lower case."""

    id: int
    name: str


class _PairRow(TypedRow):
    """A row that belongs to an issue: the id of a label, an assignee or a blocker."""

    issue_id: int
    value: int


class _ReactionRow(TypedRow):
    """The identity of a reaction of an account."""

    issue_id: int
    comment_id: int | None
    account_id: int
    content: str


async def records(
    db: Executor, repository_id: int, kind: ObjectKind, source_ids: Collection[int]
) -> dict[int, Record]:
    """Return imported objects by their ids at the source. Their rows may have been deleted."""
    if not source_ids:
        return {}
    columns = (imported_object.c.source_id, imported_object.c.local_id, imported_object.c.base)
    statement = select(*columns).where(
        imported_object.c.repository_id == repository_id,
        imported_object.c.kind == kind,
        imported_object.c.source_id.in_(source_ids),
    )
    return {row.source_id: row for row in await _records(db, statement)}


async def _records(db: Executor, statement: Select[Any]) -> list[Record]:
    rows = await fetch_all(db, statement, _RecordRow)
    return [Record(row.source_id, row.local_id, row.base) for row in rows]


async def existing_ids(db: Executor, kind: ObjectKind, ids: Collection[int]) -> set[int]:
    """Return the ids that have a row."""
    if not ids:
        return set()
    table = TABLES[kind]
    return set((await db.execute(select(table.c.id).where(table.c.id.in_(ids)))).scalars())


async def ids_by_name(
    db: Executor, repository_id: int, kind: ObjectKind, names: Collection[str]
) -> dict[str, int]:
    """Return the ids of labels or milestones by their names in lower case."""
    if not names:
        return {}
    table = TABLES[kind]
    name = func.lower(table.c.name if kind is ObjectKind.LABEL else table.c.title)
    statement = select(table.c.id, name.label("name")).where(
        table.c.repository_id == repository_id, name.in_({one.lower() for one in names})
    )
    return {row.name: row.id for row in await fetch_all(db, statement, _NameRow)}


async def imported_issue_ids(db: Executor, repository_id: int, numbers: Collection[int]) -> dict[int, int]:
    """Return the ids of imported issues and pull requests by number.

    Numbers that another issue or pull request has at the source are omitted.
    """
    if not numbers:
        return {}
    is_imported = (
        select(imported_object.c.local_id)
        .where(
            imported_object.c.repository_id == repository_id,
            imported_object.c.kind.in_((ObjectKind.ISSUE, ObjectKind.PULL)),
            imported_object.c.local_id == issue.c.id,
        )
        .exists()
    )
    is_taken = (
        select(imported_object.c.source_id)
        .where(
            imported_object.c.repository_id == repository_id,
            imported_object.c.kind == ObjectKind.TAKEN,
            imported_object.c.source_id == issue.c.number,
        )
        .exists()
    )
    statement = select(issue.c.id, issue.c.number).where(
        issue.c.repository_id == repository_id, issue.c.number.in_(numbers), is_imported, ~is_taken
    )
    return {row.number: row.id for row in await fetch_all(db, statement, IssueRow)}


async def numbers_of(db: Executor, issue_ids: Collection[int]) -> dict[int, int]:
    """Return the numbers of issues and pull requests by their ids."""
    if not issue_ids:
        return {}
    statement = select(issue.c.id, issue.c.number).where(issue.c.id.in_(issue_ids))
    return {row.id: row.number for row in await fetch_all(db, statement, IssueRow)}


async def issues_by_local_id(
    db: Executor, repository_id: int, local_ids: Collection[int]
) -> dict[int, tuple[ObjectKind, Record]]:
    """Return the kinds and records of imported issues and pull requests, by the ids of their rows."""
    if not local_ids:
        return {}
    columns = (imported_object.c.source_id, imported_object.c.local_id, imported_object.c.base)
    rows = dict[int, tuple[ObjectKind, Record]]()
    for kind in (ObjectKind.ISSUE, ObjectKind.PULL):
        statement = select(*columns).where(
            imported_object.c.repository_id == repository_id,
            imported_object.c.kind == kind,
            imported_object.c.local_id.in_(local_ids),
        )
        rows |= {row.local_id: (kind, row) for row in await _records(db, statement)}
    return rows


async def dependencies_of(db: Executor, issue_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return the dependencies of issues: pairs of an issue id and the id of a blocking issue."""
    if not issue_ids:
        return set()
    columns = (dependency.c.issue_id, dependency.c.blocker_id.label("value"))
    statement = select(*columns).where(dependency.c.issue_id.in_(issue_ids))
    return {(row.issue_id, row.value) for row in await fetch_all(db, statement, _PairRow)}


async def rows_of(db: Executor, kind: ObjectKind, ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return rows by id.

    Issues and pull requests have their labels and assignees. Pull requests have the columns of both tables.
    """
    if not ids:
        return {}
    table, names = TABLES[kind], [*get_type_hints(_ROWS[kind])]
    columns = [table.c[name] if name in table.c else pull.c[name] for name in names]
    statement = select(*columns).where(table.c.id.in_(ids))
    if kind is ObjectKind.PULL:
        statement = statement.join(pull, pull.c.issue_id == issue.c.id)
    rows = {
        int(values["id"]): values
        for row in await fetch_all(db, statement, _ROWS[kind])
        for values in ({name: getattr(row, name) for name in names},)
    }
    if table is issue:
        labels, people = await _labels(db, rows), await _assignees(db, rows)
        for one, row in rows.items():
            row |= {"labels": sorted(labels[one]), "assignees": people[one]}
    return rows


async def _labels(db: Executor, issue_ids: Collection[int]) -> dict[int, list[int]]:
    statement = select(issue_label.c.issue_id, issue_label.c.label_id.label("value"))
    return await _pairs(db, statement.where(issue_label.c.issue_id.in_(issue_ids)))


async def _assignees(db: Executor, issue_ids: Collection[int]) -> dict[int, list[int]]:
    statement = select(assignee.c.issue_id, assignee.c.account_id.label("value"))
    of_issues = statement.where(assignee.c.issue_id.in_(issue_ids))
    return await _pairs(db, of_issues.order_by(assignee.c.issue_id, assignee.c.position))


async def _pairs(db: Executor, statement: Any) -> dict[int, list[int]]:
    groups = defaultdict[int, list[int]](list)
    for row in await fetch_all(db, statement, _PairRow):
        groups[row.issue_id].append(row.value)
    return groups


async def change_row(db: Executor, kind: ObjectKind, row_id: int, values: Mapping[str, Any]) -> None:
    """Change columns of an imported row. Columns of a pull request may be in either of its two tables."""
    table = TABLES[kind]
    own = {name: value for name, value in values.items() if name in table.c}
    if table is issue and "body" in own:
        own["content_version"] = issue.c.content_version + 1
    if own:
        await db.execute(update(table).where(table.c.id == row_id).values(own))
    if of_pull := {name: value for name, value in values.items() if name not in table.c}:
        await db.execute(update(pull).where(pull.c.issue_id == row_id).values(of_pull))


async def replace_labels(db: Executor, issue_id: int, label_ids: Sequence[int]) -> None:
    await db.execute(delete(issue_label).where(issue_label.c.issue_id == issue_id))
    if label_ids:
        await db.execute(issue_label.insert(), [{"issue_id": issue_id, "label_id": one} for one in label_ids])


async def save_bases(db: Executor, repository_id: int, kind: ObjectKind, rows: Sequence[Record]) -> None:
    """Save the bases of objects in one statement."""
    if not rows:
        return
    statement = insert(db, imported_object)
    values = [
        {
            "repository_id": repository_id,
            "kind": kind,
            "source_id": row.source_id,
            "local_id": row.local_id,
            "base": row.base,
        }
        for row in rows
    ]
    keys = ["repository_id", "kind", "source_id"]
    await db.execute(
        statement.on_conflict_do_update(index_elements=keys, set_={"base": statement.excluded.base}), values
    )


async def line_comments(db: Executor, review_ids: Collection[int]) -> Sequence[LineCommentRow]:
    """Return the comments on lines of reviews."""
    if not review_ids:
        return []
    names = LineCommentRow.__annotations__
    columns: list[ColumnElement[Any]] = [review_comment.c[name] for name in names]
    statement = select(*columns).where(review_comment.c.review_id.in_(review_ids))
    return await fetch_all(db, statement.order_by(review_comment.c.id), LineCommentRow)


async def reactions_of(db: Executor, issue_ids: Collection[int]) -> set[tuple[int, int | None, int, str]]:
    """Return reactions to issues and their comments, as (issue id, comment id, account id, content).

    Reactions of the ghost are omitted.
    """
    if not issue_ids:
        return set()
    columns = [reaction.c[name] for name in _ReactionRow.__annotations__]
    statement = select(*columns).where(reaction.c.issue_id.in_(issue_ids), reaction.c.account_id != GHOST_ID)
    rows = await fetch_all(db, statement, _ReactionRow)
    return {(row.issue_id, row.comment_id, row.account_id, row.content) for row in rows}


async def change_line_comment(db: Executor, comment_id: int, values: Mapping[str, Any]) -> None:
    await db.execute(update(review_comment).where(review_comment.c.id == comment_id).values(values))
