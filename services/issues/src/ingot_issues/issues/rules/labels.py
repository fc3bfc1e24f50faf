"""Changes of the labels on an issue."""

from collections.abc import Collection, Sequence
from typing import Literal

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.issues.events import IssueChanges
from ingot_contracts.repos.repositories import Repository
from ingot_issues.issues.rules.announcements import announce
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.labels.rules.repository import list_ids_to_put, one_of_each_scope, scope_of
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import repository as store
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.timeline import CommentKind, Details


async def add_to_issue(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, ids: list[int], names: list[str]
) -> IssueDetails | None:
    """Add labels to an issue. Return its details, or None if nothing changed.

    An exclusive label replaces other labels of its scope. Labels that the repository does not have are
    skipped.
    """
    await context.lock(tx, issue.id)
    repository = context.repository
    rows = await store.list_by_ids_and_names(tx, repository.id, repository.owner.id, ids, names)
    added = one_of_each_scope(rows)
    scopes = {scope for row in added if (scope := scope_of(row))}
    former = await store.list_on_issue(tx, issue.id) if scopes else []
    added_ids = [row.id for row in added]
    displaced_ids = [row.id for row in former if scope_of(row) in scopes and row.id not in added_ids]
    removed = await store.remove_from_issue(tx, issue.id, displaced_ids)
    return await _record(
        tx, context, issue, added=await store.put_on_issue(tx, issue.id, added_ids), removed=removed
    )


async def replace_on_issue(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, ids: list[int], names: list[str]
) -> IssueDetails | None:
    """Replace the labels of an issue. Return its details, or None if nothing changed.

    Labels that the repository does not have are skipped.
    """
    await context.lock(tx, issue.id)
    label_ids = set(await list_ids_to_put(tx, context.repository, ids, names))
    former_ids = {row.id for row in await store.list_on_issue(tx, issue.id)}
    removed = await store.remove_from_issue(tx, issue.id, sorted(former_ids - label_ids))
    added = await store.put_on_issue(tx, issue.id, sorted(label_ids - former_ids))
    return await _record(tx, context, issue, added=added, removed=removed)


async def require_labels(db: Executor, repository: Repository, ids: Collection[int], field: str) -> None:
    """Raise Invalid if issues of the repository cannot have one of these labels."""
    distinct = list(dict.fromkeys(ids))
    rows = await store.list_by_ids_and_names(db, repository.id, repository.owner.id, distinct)
    if len(rows) < len(distinct):
        raise Invalid.field(field, "unknown", "is no label of the repository")


async def remove_from_issue(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, ids: list[int]
) -> IssueDetails | None:
    """Remove labels from an issue. Return its details, or None if nothing changed.

    Raises Invalid if the repository has no such label.
    """
    await context.lock(tx, issue.id)
    await require_labels(tx, context.repository, ids, "id")
    return await _record(tx, context, issue, removed=await store.remove_from_issue(tx, issue.id, ids))


async def clear_issue(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Remove all labels from an issue."""
    await context.lock(tx, issue.id)
    removed = await store.remove_from_issue(tx, issue.id)
    await _record(tx, context, issue, removed=removed, action="label_cleared")


async def _record(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    *,
    added: Sequence[int] = (),
    removed: Sequence[int] = (),
    action: Literal["label_updated", "label_cleared"] = "label_updated",
) -> IssueDetails | None:
    """Record and announce added and removed labels. Return the new details, or None if nothing changed."""
    if not added and not removed:
        return None
    for label_id in removed:
        details = Details(label=label_id, removed=True)
        await context.add_to_timeline(tx, issue.id, CommentKind.LABEL, "", details)
    for label_id in added:
        await context.add_to_timeline(tx, issue.id, CommentKind.LABEL, "1", Details(label=label_id))
    await issue_rows.change(tx, issue.id)
    rows, full_name = await store.get_many(tx, [*added, *removed]), context.repository.full_name
    labels = {row.id: label_view(context.presenter, row, full_name) for row in rows.values()}
    changes = IssueChanges(
        added_labels=[labels[label_id] for label_id in added if label_id in labels],
        removed_labels=[labels[label_id] for label_id in removed if label_id in labels],
    )
    return await announce(tx, context, issue.id, action, changes=changes)
