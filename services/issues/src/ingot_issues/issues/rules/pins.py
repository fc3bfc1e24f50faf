"""Pinned issues and pull requests of a repository."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_issues.issues.store import pins as store
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.timeline import CommentKind

MOST_PINS = 3
"""Maximum number of pinned issues per repository, and of pinned pull requests."""


async def pin_issue(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Pin an issue after the others, unless it is already pinned.

    Raises Invalid if MOST_PINS are already pinned.
    """
    await context.lock(tx, issue.id)
    ids = await store.list_ids(tx, context.repository.id, is_pull=issue.is_pull)
    if issue.id in ids:
        return
    if len(ids) >= MOST_PINS:
        raise Invalid.field("index", "most", f"is not pinned: {MOST_PINS} are pinned already")
    await store.replace(tx, ids, [*ids, issue.id])
    await context.add_to_timeline(tx, issue.id, CommentKind.PINNED)


async def unpin_issue(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Unpin an issue, if it is pinned."""
    await context.lock(tx, issue.id)
    ids = await store.list_ids(tx, context.repository.id, is_pull=issue.is_pull)
    if issue.id in ids:
        await store.replace(tx, ids, [one for one in ids if one != issue.id])
        await context.add_to_timeline(tx, issue.id, CommentKind.UNPINNED)


async def move_pin(tx: Tx, context: RepositoryContext, issue: IssueDetails, position: int) -> None:
    """Move a pinned issue to ``position``, which counts from 1. Raises Invalid."""
    await context.lock(tx, issue.id)
    ids = await store.list_ids(tx, context.repository.id, is_pull=issue.is_pull)
    if issue.id not in ids:
        raise Invalid.field("index", "unpinned", "is not pinned")
    if not 1 <= position <= len(ids):
        raise Invalid.field("position", "range", f"is a number from 1 to {len(ids)}")
    others = [one for one in ids if one != issue.id]
    await store.replace(tx, ids, [*others[: position - 1], issue.id, *others[position - 1 :]])
