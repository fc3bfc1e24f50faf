"""SQL for the labels of a repository, and for the labels on an issue."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, func, or_, select, update

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.labels.store.tables import issue_label, label


class LabelRow(TypedRow):
    """A label of a repository or of an organization.

    ``repository_id`` is 0 for a label of an organization. ``organization_id`` is None for a label of a
    repository. ``color`` has six hexadecimal digits.
    """

    id: int
    repository_id: int
    organization_id: int | None
    name: str
    color: str
    description: str
    exclusive: bool
    is_archived: bool


class ListedLabelRow(LabelRow, TotalRow):
    """A label in a page, with the total number."""


_BY_NAME = (func.lower(label.c.name), label.c.id)
_OF_REPOSITORY = PreparedPage(
    select(label).where(label.c.repository_id == bindparam("repository_id", type_=BigId)),
    ListedLabelRow,
    *_BY_NAME,
)
_BY_IDS = PreparedQuery(select(label).where(any_of(label.c.id, "ids")), LabelRow)


async def add(db: Executor, repository_id: int, values: Mapping[str, object]) -> LabelRow:
    statement = label.insert().values(repository_id=repository_id, **values).returning(label)
    [row] = await fetch_all(db, statement, LabelRow)
    return row


async def add_missing(db: Executor, repository_id: int, values: Sequence[Mapping[str, object]]) -> None:
    """Insert the labels whose names the repository does not have in any letter case."""
    taken = await db.execute(select(func.lower(label.c.name)).where(label.c.repository_id == repository_id))
    names = set(taken.scalars())
    missing = [
        {"repository_id": repository_id, **one} for one in values if str(one["name"]).lower() not in names
    ]
    if missing:
        await db.execute(label.insert().values(missing))


async def list_all(db: Executor, repository_id: int) -> Sequence[LabelRow]:
    """Return at most 1,000 labels of a repository that are not archived, in the order of creation."""
    statement = select(label).where(label.c.repository_id == repository_id, label.c.is_archived.is_(False))
    return await fetch_all(db, statement.order_by(label.c.id).limit(1000), LabelRow)


async def get(db: Executor, repository_id: int, label_id: int) -> LabelRow | None:
    statement = select(label).where(label.c.repository_id == repository_id, label.c.id == label_id)
    return await fetch_first(db, statement, LabelRow)


def _is_usable(repository_id: int, owner_id: int) -> ColumnElement[bool]:
    """Return the condition for labels of the repository, and of the organization that owns it."""
    return or_(label.c.repository_id == repository_id, label.c.organization_id == owner_id)


async def get_by_name(db: Executor, repository_id: int, name: str) -> LabelRow | None:
    statement = select(label).where(
        label.c.repository_id == repository_id, func.lower(label.c.name) == name.lower()
    )
    return await fetch_first(db, statement.order_by(label.c.id).limit(1), LabelRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, LabelRow]:
    """Return labels by id. Missing labels are omitted."""
    if not ids:
        return {}
    return {row.id: row for row in await _BY_IDS.all(db, ids=list(ids))}


async def list_page(db: Executor, repository_id: int, page: Slice) -> tuple[Sequence[LabelRow], int]:
    """Return a page of a repository's labels by name, and their number."""
    return await _OF_REPOSITORY.read(db, page, repository_id=repository_id)


async def list_by_ids_and_names(
    db: Executor, repository_id: int, owner_id: int, ids: Sequence[int], names: Sequence[str] = ()
) -> Sequence[LabelRow]:
    """Return the labels that issues of the repository may have, with one of ``ids`` or ``names``.

    A name selects the oldest label that has it.
    """
    usable, name = _is_usable(repository_id, owner_id), func.lower(label.c.name)
    has_name = usable & name.in_([one.lower() for one in names])
    oldest = select(func.min(label.c.id)).where(has_name).group_by(name)
    statement = select(label).where(usable, label.c.id.in_(ids) | label.c.id.in_(oldest))
    return await fetch_all(db, statement.order_by(label.c.id), LabelRow)


async def change(db: Executor, label_id: int, values: Mapping[str, object]) -> LabelRow:
    statement = update(label).where(label.c.id == label_id).values(values).returning(label)
    [row] = await fetch_all(db, statement, LabelRow)
    return row


async def remove(db: Executor, label_id: int) -> None:
    """Delete a label, and remove it from issues."""
    await db.execute(delete(label).where(label.c.id == label_id))


_ON_ISSUE = select(label).join(issue_label, issue_label.c.label_id == label.c.id)
_PAGE_ON_ISSUE = PreparedPage(
    _ON_ISSUE.where(issue_label.c.issue_id == bindparam("issue_id", type_=BigId)), ListedLabelRow, *_BY_NAME
)


async def list_on_issue(db: Executor, issue_id: int) -> Sequence[LabelRow]:
    """Return all labels of an issue by name."""
    statement = _ON_ISSUE.where(issue_label.c.issue_id == issue_id)
    return await fetch_all(db, statement.order_by(*_BY_NAME), LabelRow)


async def list_page_on_issue(db: Executor, issue_id: int, page: Slice) -> tuple[Sequence[LabelRow], int]:
    """Return a page of an issue's labels by name, and their number."""
    return await _PAGE_ON_ISSUE.read(db, page, issue_id=issue_id)


async def put_on_issue(db: Executor, issue_id: int, label_ids: Sequence[int]) -> list[int]:
    """Add labels to an issue. Return the ids of the labels that it did not have before."""
    if not label_ids:
        return []
    rows = [{"issue_id": issue_id, "label_id": label_id} for label_id in label_ids]
    statement = insert(db, issue_label).values(rows).on_conflict_do_nothing()
    return list((await db.execute(statement.returning(issue_label.c.label_id))).scalars())


async def remove_from_issue(db: Executor, issue_id: int, label_ids: Sequence[int] | None = None) -> list[int]:
    """Remove these labels, or all labels, from an issue. Return the ids of the removed labels."""
    statement = delete(issue_label).where(issue_label.c.issue_id == issue_id)
    if label_ids is not None:
        if not label_ids:
            return []
        statement = statement.where(issue_label.c.label_id.in_(label_ids))
    return list((await db.execute(statement.returning(issue_label.c.label_id))).scalars())


class LabelOnIssue(NamedTuple):
    """A label of an issue."""

    id: int
    name: str
    color: str
    description: str
    exclusive: bool
    is_archived: bool
    organization_id: int | None


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the labels of a repository."""
    await db.execute(delete(label).where(label.c.repository_id == repository_id))
