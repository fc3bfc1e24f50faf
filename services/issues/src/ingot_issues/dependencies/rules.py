"""Issues that block other issues.

A blocked issue cannot be closed. A blocked pull request cannot be merged.
"""

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.rules.repositories import has_dependencies
from ingot_issues.dependencies import store
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.issues import AnyIssue
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.scheduled_merges.rules.scheduling import wake


class Blocked(ApiError):
    """Open issues block the issue or pull request."""

    status = 412


async def refuse_blocked(db: Executor, repository: Repository, issue_id: int) -> None:
    """Raise Blocked while open issues block the issue, if dependencies are enabled in the repository."""
    if not has_dependencies(repository):
        return
    count = await store.count_open_blockers(db, issue_id)
    if count:
        raise Blocked(f"it is blocked by {count} open {'issue' if count == 1 else 'issues'}")


async def add_dependency(
    tx: Tx,
    context: RepositoryContext,
    issue: AnyIssue,
    blocker: AnyIssue,
    *,
    on: AnyIssue,
) -> None:
    """Let ``blocker`` block ``issue``. ``on`` is one of the two, in the repository of ``context``.

    Raises Invalid if both are the same issue, or if ``issue`` blocks ``blocker``.
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
    issue: AnyIssue,
    blocker: AnyIssue,
    *,
    on: AnyIssue,
) -> None:
    """Stop ``blocker`` from blocking ``issue``. Without such a dependency, nothing happens."""
    await context.lock(tx, issue.id, blocker.id)
    if await store.remove(tx, issue.id, blocker.id):
        await wake(tx, context.jobs, [issue.id])
        await _record(tx, context, CommentKind.DEPENDENCY_REMOVED, on, blocker if on is issue else issue)


async def _record(
    tx: Tx, context: RepositoryContext, kind: CommentKind, on: AnyIssue, other: AnyIssue
) -> None:
    """Add a row to the timeline of ``on``. Only readers of the other repository see the row.

    If both issues are in the same repository, which is locked, the other timeline gets a row as well.
    """
    sides = [(on, other)] if other.repository_id != on.repository_id else [(on, other), (other, on)]
    for one, referring in sides:
        reference = {"ref_repository_id": referring.repository_id, "ref_issue_id": referring.id}
        await context.add_to_timeline(tx, one.id, kind, reference=reference)


async def wake_blocked(tx: Tx, jobs: Jobs, blocker_id: int) -> None:
    """Retry the scheduled merges of pull requests that an issue blocked until it was closed."""
    await wake(tx, jobs, await store.list_blocked_ids(tx, blocker_id))
