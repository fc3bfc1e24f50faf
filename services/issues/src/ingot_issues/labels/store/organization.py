"""SQL for the labels of organizations, which are rows of ``label`` without a repository."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_all, fetch_first, fetch_page
from ingot_issues.labels.store.repository import LabelRow
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.records.store.tables import issue

NO_REPOSITORY = 0


async def add(db: Executor, organization_id: int, values: Mapping[str, object]) -> LabelRow:
    own = {"repository_id": NO_REPOSITORY, "organization_id": organization_id}
    [row] = await fetch_all(db, label.insert().values(own | dict(values)).returning(label), LabelRow)
    return row


async def get(db: Executor, organization_id: int, label_id: int) -> LabelRow | None:
    statement = select(label).where(label.c.organization_id == organization_id, label.c.id == label_id)
    return await fetch_first(db, statement, LabelRow)


async def list_page(db: Executor, organization_id: int, page: Slice) -> tuple[Sequence[LabelRow], int]:
    """Return a page of an organization's labels by name, and their number."""
    statement = select(label).where(label.c.organization_id == organization_id)
    return await fetch_page(db, statement, page, LabelRow, func.lower(label.c.name), label.c.id)


async def list_first(db: Executor, organization_id: int, limit: int) -> Sequence[LabelRow]:
    """Return at most ``limit`` labels of an organization, by name."""
    statement = select(label).where(label.c.organization_id == organization_id)
    by_name = statement.order_by(func.lower(label.c.name), label.c.id)
    return await fetch_all(db, by_name.limit(limit), LabelRow)


async def remove(db: Executor, organization_id: int, label_id: int) -> None:
    """Delete a label of the organization, and remove it from issues. A missing label is ignored."""
    await db.execute(delete(label).where(label.c.organization_id == organization_id, label.c.id == label_id))


async def remove_all(db: Executor, organization_id: int) -> None:
    """Delete the labels of an organization, and remove them from issues."""
    await db.execute(delete(label).where(label.c.organization_id == organization_id))


async def remove_foreign(db: Executor, repository_id: int, owner_id: int) -> None:
    """Remove labels of organizations other than the owner from the issues of a repository."""
    foreign = select(label.c.id).where(
        label.c.organization_id.is_not(None), label.c.organization_id != owner_id
    )
    own = select(issue.c.id).where(issue.c.repository_id == repository_id)
    await db.execute(
        delete(issue_label).where(issue_label.c.label_id.in_(foreign), issue_label.c.issue_id.in_(own))
    )
