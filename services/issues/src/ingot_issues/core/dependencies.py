"""Issues that block others: an issue is closed, and a pull request is merged, after what blocks it is closed."""

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Invalid
from ingot_contracts.repos import Repository
from ingot_issues.core.access import has_dependencies
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.core.scheduled_merges import wake
from ingot_issues.store import dependencies as store
from ingot_issues.store import repositories
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.issues import IssueDetails


class Blocked(ApiError):
    """Open issues block it."""

    status = 412


async def refuse_blocked(db: Executor, repository: Repository, issue_id: int) -> None:
    """Raises Blocked while open issues block it, where the repository obeys that."""
    if not has_dependencies(repository):
        return
    count = await store.count_open_blockers(db, issue_id)
    if count:
        raise Blocked(f"it is blocked by {count} open {'issue' if count == 1 else 'issues'}")


async def add_dependency(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    blocker: IssueDetails,
    *,
    on: IssueDetails,
) -> None:
    """Say that ``blocker`` blocks ``issue``. ``on`` is the one of the two in the repository of ``context``.

    Raises Invalid when it is the issue itself, or when the issue blocks it.
    """
    await context.lock(tx, issue.id, blocker.id)
    await repositories.add_missing(tx, context.repository)
    if issue.id == blocker.id:
        raise Invalid.field("index", "same", "is the issue itself")
    if await store.exists(tx, blocker.id, issue.id):
        raise Invalid.field("index", "circle", "the two would block each other")
    if await store.add(tx, issue.id, blocker.id):
        await _record(tx, context, CommentKind.DEPENDENCY_ADDED, on, blocker if on is issue else issue)


async def remove_dependency(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    blocker: IssueDetails,
    *,
    on: IssueDetails,
) -> None:
    """Say that ``blocker`` does not block ``issue`` any more; nothing happens when it did not."""
    await context.lock(tx, issue.id, blocker.id)
    if await store.remove(tx, issue.id, blocker.id):
        await wake(tx, context.jobs, [issue.id])
        await _record(tx, context, CommentKind.DEPENDENCY_REMOVED, on, blocker if on is issue else issue)


async def _record(
    tx: Tx, context: RepositoryContext, kind: CommentKind, on: IssueDetails, other: IssueDetails
) -> None:
    """Write into the timeline of ``on``; readers of the other repository alone see the row.

    Where the other is in the same repository, which is locked, its timeline has it as well.
    """
    sides = [(on, other)] if other.repository_id != on.repository_id else [(on, other), (other, on)]
    for one, referring in sides:
        reference = {"ref_repository_id": referring.repository_id, "ref_issue_id": referring.id}
        await context.add_to_timeline(tx, one.id, kind, reference=reference)
