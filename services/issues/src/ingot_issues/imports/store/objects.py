"""SQL for imports: the cursor of each import, and the local ids of objects of the source."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    case,
    delete,
    func,
    select,
    update,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_issues.attachments.store import attachment
from ingot_issues.dependencies.store import dependency
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.milestones.store import milestone
from ingot_issues.reactions.store import reaction
from ingot_issues.records.store.tables import comment, issue, pull
from ingot_issues.reviewers.store.tables import review, review_comment
from ingot_issues.schema import metadata
from ingot_issues.times.store.tracked import tracked_time

# The next page to read from repos. A row exists while an import runs, or could be restarted.
import_cursor = Table(
    "import_cursor",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("cursor", Text, nullable=False),
    # How often the import was repeated, and JSON: what the last page could not change.
    Column("repeat", Integer, nullable=False, default=0, server_default="0"),
    Column("conflicts", Text, nullable=False, default="[]", server_default="[]"),
)

# `local_id` is a row of the table of `kind`. `base` is JSON: a ``Base`` of what the source said when the object
# was written last. Null in imports of earlier releases.
imported_object = Table(
    "imported_object",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("kind", Integer, primary_key=True, autoincrement=False),
    Column("source_id", BigId, primary_key=True, autoincrement=False),
    Column("local_id", BigId, nullable=False),
    Column("base", Text),
    Index("ix_imported_object_local", "kind", "local_id"),
)


# Files of written texts that are still at the source.
imported_file = Table(
    "imported_file",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("uuid", String(36), primary_key=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("comment_id", BigId, ForeignKey("comment.id", ondelete="CASCADE"), index=True),
    Column("uploader_id", BigId, nullable=False),
    Column("address", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("local_url", Text, nullable=False),
    Column("original_url", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)


class ObjectKind(IntEnum):
    """Values of the column ``kind``.

    ``TAKEN``: another issue has this number here, so the object has no row.
    """

    LABEL = 1
    MILESTONE = 2
    ISSUE = 3
    COMMENT = 4
    PULL = 5
    REVIEW = 6
    TIME = 7
    LINE = 8
    TAKEN = 9


_TABLES: Mapping[ObjectKind, Table] = {
    ObjectKind.LABEL: label,
    ObjectKind.MILESTONE: milestone,
    ObjectKind.REVIEW: review,
    ObjectKind.TIME: tracked_time,
}


class ObjectRow(TypedRow):
    """An object of the source, and the id of its row here."""

    source_id: int
    local_id: int


class PagePlace(NamedTuple):
    """The cursor of the next page of an import, its run, and the conflicts of the last page as JSON."""

    cursor: str = ""
    repeat: int = 0
    conflicts: str = "[]"


class _PlaceRow(TypedRow):
    """The columns of a ``PagePlace``."""

    cursor: str
    repeat: int
    conflicts: str


class FileRow(TypedRow):
    """A file at the source that belongs to the text of an issue or comment.

    ``comment_id`` is None for the issue.
    """

    repository_id: int
    uuid: str
    issue_id: int
    comment_id: int | None
    uploader_id: int
    address: str
    name: str
    local_url: str
    original_url: str
    created_at: datetime


class IssueRow(TypedRow):
    """The id and number of an issue."""

    id: int
    number: int


async def get_cursor(db: Executor, repository_id: int) -> PagePlace:
    """Return the position of an import. The cursor is empty for the first page."""
    columns = (import_cursor.c.cursor, import_cursor.c.repeat, import_cursor.c.conflicts)
    statement = select(*columns).where(import_cursor.c.repository_id == repository_id)
    row = await fetch_first(db, statement, _PlaceRow)
    return PagePlace(row.cursor, row.repeat, row.conflicts) if row is not None else PagePlace()


async def save_cursor(db: Executor, repository_id: int, cursor: str, conflicts: str) -> None:
    values = {"cursor": cursor, "conflicts": conflicts}
    statement = insert(db, import_cursor).values(repository_id=repository_id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["repository_id"], set_=values))


async def begin_repeat(db: Executor, repository_id: int, repeat: int) -> None:
    """Reset the cursor of an import to the first page for a new repeat.

    If this repeat has already begun, nothing changes.
    """
    values = {"cursor": "", "conflicts": "[]", "repeat": repeat}
    statement = insert(db, import_cursor).values(repository_id=repository_id, **values)
    await db.execute(
        statement.on_conflict_do_update(
            index_elements=["repository_id"], set_=values, where=import_cursor.c.repeat < repeat
        )
    )


async def local_ids(
    db: Executor, repository_id: int, kind: ObjectKind, source_ids: Collection[int]
) -> dict[int, int]:
    """Return the ids of local rows by the ids of their objects at the source."""
    if not source_ids:
        return {}
    statement = select(imported_object.c.source_id, imported_object.c.local_id).where(
        imported_object.c.repository_id == repository_id,
        imported_object.c.kind == kind,
        imported_object.c.source_id.in_(source_ids),
    )
    return {row.source_id: row.local_id for row in await fetch_all(db, statement, ObjectRow)}


async def add_objects(
    db: Executor, repository_id: int, kind: ObjectKind, rows: Mapping[int, int], bases: Mapping[int, str]
) -> None:
    """Record the local ids of objects of the source. A repeated object fails on the unique key."""
    if rows:
        values = [
            {
                "repository_id": repository_id,
                "kind": kind,
                "source_id": source_id,
                "local_id": local_id,
                "base": bases.get(source_id),
            }
            for source_id, local_id in rows.items()
        ]
        await db.execute(imported_object.insert(), values)


async def add_taken(db: Executor, repository_id: int, numbers: Collection[int]) -> None:
    """Record numbers at the source that another issue or pull request has here."""
    kind = ObjectKind.TAKEN
    values = [
        {"repository_id": repository_id, "kind": kind, "source_id": number, "local_id": 0}
        for number in numbers
    ]
    if values:
        await db.execute(insert(db, imported_object).on_conflict_do_nothing(), values)


async def issue_ids(db: Executor, repository_id: int, numbers: Collection[int]) -> dict[int, int]:
    """Return the ids of issues and pull requests by number."""
    if not numbers:
        return {}
    statement = select(issue.c.id, issue.c.number).where(
        issue.c.repository_id == repository_id, issue.c.number.in_(numbers)
    )
    return {row.number: row.id for row in await fetch_all(db, statement, IssueRow)}


async def add_issues(db: Executor, values: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Insert issues of one repository. Return their ids by number."""
    statement = issue.insert().returning(issue.c.id, sort_by_parameter_order=True)
    ids = (await db.execute(statement, values)).scalars()
    return dict(zip((one["number"] for one in values), ids, strict=True))


async def add_pulls(db: Executor, values: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows of pull requests: the columns that issues do not have."""
    await db.execute(pull.insert(), values)


async def add_rows(
    db: Executor,
    repository_id: int,
    kind: ObjectKind,
    values: Mapping[int, Mapping[str, Any]],
    bases: Mapping[int, str],
) -> dict[int, int]:
    """Insert and record new objects, all with the same columns.

    Return their local ids by their ids at the source.
    """
    if not values:
        return {}
    table = _TABLES[kind]
    statement = table.insert().returning(table.c.id, sort_by_parameter_order=True)
    ids = (await db.execute(statement, [*values.values()])).scalars()
    local_ids = dict(zip(values, ids, strict=True))
    await add_objects(db, repository_id, kind, local_ids, bases)
    return local_ids


async def add_line_comments(db: Executor, values: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert comments on lines, and return their ids."""
    return await _add(db, review_comment, values)


async def add_requests(db: Executor, values: Sequence[Mapping[str, Any]]) -> None:
    if values:
        await db.execute(review.insert(), values)


async def add_timeline_rows(db: Executor, values: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert comments and other rows of timelines in their order, and return their ids."""
    return await _add(db, comment, values)


async def add_reactions(db: Executor, values: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert reactions, and return their ids."""
    return await _add(db, reaction, values)


async def _add(db: Executor, table: Table, values: Sequence[Mapping[str, Any]]) -> list[int]:
    if not values:
        return []
    statement = table.insert().returning(table.c.id, sort_by_parameter_order=True)
    return list((await db.execute(statement, values)).scalars())


async def add_dependencies(db: Executor, pairs: Collection[tuple[int, int]]) -> None:
    """Add dependencies, except existing ones.

    A pair has the ids of an issue and of the issue that blocks it.
    """
    if pairs:
        values = [{"issue_id": one, "blocker_id": blocker} for one, blocker in pairs]
        await db.execute(insert(db, dependency).values(values).on_conflict_do_nothing())


async def add_labels(db: Executor, pairs: Sequence[tuple[int, int]]) -> None:
    """Add labels to issues. A pair has the ids of an issue and of a label."""
    if pairs:
        await db.execute(
            issue_label.insert(), [{"issue_id": one, "label_id": label_id} for one, label_id in pairs]
        )


async def add_assignees(db: Executor, accounts: Mapping[int, Sequence[int]]) -> None:
    """Assign accounts to issues without assignees, in the given order."""
    rows = [
        {"issue_id": issue_id, "account_id": account_id, "position": position}
        for issue_id, account_ids in accounts.items()
        for position, account_id in enumerate(dict.fromkeys(account_ids))
    ]
    if rows:
        await db.execute(assignee.insert(), rows)


async def add_files(db: Executor, values: Sequence[Mapping[str, Any]]) -> None:
    """Record files to fetch. A file that two texts contain belongs to the first text."""
    if values:
        await db.execute(insert(db, imported_file).on_conflict_do_nothing(), values)


async def next_file(db: Executor, repository_id: int) -> FileRow | None:
    """Return the next file to fetch, or None. Files of older issues come first."""
    order = (imported_file.c.issue_id, imported_file.c.created_at, imported_file.c.uuid)
    statement = select(imported_file).where(imported_file.c.repository_id == repository_id)
    return await fetch_first(db, statement.order_by(*order).limit(1), FileRow)


async def stored_bytes(db: Executor, repository_id: int) -> int:
    """Return the size of all files of texts of a repository, in bytes."""
    statement = select(func.coalesce(func.sum(attachment.c.size), 0)).join(
        issue, issue.c.id == attachment.c.issue_id
    )
    return int((await db.execute(statement.where(issue.c.repository_id == repository_id))).scalar_one())


async def remove_file(db: Executor, file: FileRow, *, is_here: bool) -> None:
    """Remove a file from the list of files to fetch.

    Without a local copy, its links lead to the source again.
    """
    await db.execute(
        delete(imported_file).where(
            imported_file.c.repository_id == file.repository_id, imported_file.c.uuid == file.uuid
        )
    )
    if is_here:
        return
    for table in (issue, comment):
        of_issue = issue.c.id if table is issue else comment.c.issue_id
        await db.execute(
            update(table)
            .where(of_issue == file.issue_id, table.c.body.contains(file.local_url, autoescape=True))
            .values(body=func.replace(table.c.body, file.local_url, file.original_url))
        )


async def count_comments(db: Executor, added: Mapping[int, int]) -> None:
    """Add to the comment counts of issues, without changing their update times."""
    if added:
        number = case(added, value=issue.c.id)
        statement = update(issue).where(issue.c.id.in_(added))
        await db.execute(statement.values(comments=issue.c.comments + number))


async def count_issues(db: Executor, opened: Mapping[int, int], closed: Mapping[int, int]) -> None:
    """Add to the counts of open and closed issues of milestones, by milestone id."""
    changed = opened.keys() | closed.keys()
    if changed:
        counts = [
            case({one: number.get(one, 0) for one in changed}, value=milestone.c.id)
            for number in (opened, closed)
        ]
        await db.execute(
            update(milestone)
            .where(milestone.c.id.in_(changed))
            .values(
                open_issues=milestone.c.open_issues + counts[0],
                closed_issues=milestone.c.closed_issues + counts[1],
            )
        )


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the cursor, the recorded objects and the files to fetch of an import."""
    for table in (import_cursor, imported_object, imported_file):
        await db.execute(delete(table).where(table.c.repository_id == repository_id))
