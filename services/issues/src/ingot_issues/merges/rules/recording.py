"""Steps of a merge within this service: one request claims the merge, and it is recorded once.

``saga`` combines these steps with calls to repos.
"""

from datetime import timedelta
from typing import NoReturn

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound
from ingot_contracts.repos.merges import MERGE_STYLES, Merged, MergeStyle
from ingot_contracts.repos.repositories import Repository
from ingot_issues.closing.rules.effects import act_on_merge
from ingot_issues.dependencies.rules import Blocked, refuse_blocked, wake_blocked
from ingot_issues.issues.rules.announcements import announce
from ingot_issues.issues.rules.editing import count_in_milestone
from ingot_issues.issues.rules.views import is_draft
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pulls.store import rows as store
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.notices import notify
from ingot_issues.records.rules.targets import present_target
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.records.store.states import State
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.references import store as text_editors
from ingot_issues.references.rules import Reference, Source
from ingot_issues.repositories.store import counters
from ingot_issues.scheduled_merges import store as scheduled_merges

LEASE = timedelta(seconds=150)
"""The lifetime of a claim, longer than any merge in repos. An older claim belongs to a dead process."""
CHANGED = "the pull request has changed; look at its commits and its base branch, then merge again"
DELETE_HEAD_BRANCH = "pull.take-branch"
"""The kind of jobs that delete head branches."""
DELETE_AFTER = timedelta(seconds=60)
"""The delay of the job. By then the merge request has deleted the branch, or its process is dead."""


class DeleteHeadBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A job that deletes the head branch of a merged pull request, unless it is already deleted."""

    issue_id: int
    repository_id: int
    actor_id: int


def refuse_ended(pull: AnyPull) -> None:
    """Raise NotAllowed for a pull request that is merged or closed."""
    if pull.merged:
        raise NotAllowed("the pull request is merged")
    if pull.state == State.CLOSED:
        raise NotAllowed("the pull request is closed")


class MergeRefused(ApiError):
    """The merge is refused: the style is not allowed, or a condition is unmet. The message says which."""

    status = 405


class NotYetMergeable(MergeRefused):
    """The merge is blocked for now. A scheduled merge waits."""


def refuse_other_base(pull: AnyPull, base_branch: str) -> None:
    """Raise Conflict if the caller named another base branch. An empty name matches any branch."""
    if base_branch not in ("", pull.base_branch):
        raise Conflict(f"it goes into {pull.base_branch!r} now, not into {base_branch!r}; look at it again")


def refuse_style(repository: Repository, style: MergeStyle) -> None:
    """Raise MergeRefused for a style that the repository does not allow."""
    if not getattr(repository, MERGE_STYLES[style]):
        raise MergeRefused(f"the repository does not allow the merge style {style}")


def refuse_draft(pull: AnyPull) -> None:
    """Raise MergeRefused for a pull request that is work in progress."""
    if is_draft(pull.title):
        raise MergeRefused("the title says that it is work in progress")


async def refuse_blocked_merge(db: Executor, repository: Repository, pull: AnyPull) -> None:
    """Raise NotYetMergeable while open issues block the pull request."""
    try:
        await refuse_blocked(db, repository, pull.id)
    except Blocked as blocked:
        raise NotYetMergeable(str(blocked)) from None


async def claim_merge(db: Executor, pull: AnyPull, claim: str, *, takes_branch: bool) -> bool:
    """Claim the merge for this request. Return False if it is not possible.

    ``takes_branch``: delete the head branch afterwards. A claim fails if the head, base branch or merge base
    no longer equals the checked value in ``pull``.
    """
    return await store.claim_merge(db, pull, claim, LEASE, takes_branch=takes_branch)


class Claimed(Conflict):
    """Another request has claimed the pull request, and may still fail."""


async def refuse_claim(db: Executor, pull: AnyPull) -> NoReturn:
    """Raise the reason why a pull request could not be claimed: NotFound, NotAllowed, Conflict or Claimed."""
    row = await issue_rows.get_pull_by_id(db, pull.id)
    if row is None:
        raise NotFound
    refuse_ended(row)
    if present_target(row) != present_target(pull):
        raise Conflict(CHANGED)
    raise Claimed("another request is merging it now; read it again to see what came of that")


async def record_merge(
    tx: Tx,
    context: RepositoryContext,
    pull: AnyPull,
    merged: Merged,
    pull_references: list[Reference],
) -> None:
    """Record and announce a merge once. ``pull_references`` are the references of title and body.

    With actor 0, no merger is recorded.
    """
    await context.lock(tx)
    takes_branch = await store.mark_merged(tx, pull.pull_id, merged, merged_by=context.actor_id or None)
    if takes_branch is None:
        return
    await scheduled_merges.remove(tx, pull.id)
    await context.add_to_timeline(tx, pull.id, CommentKind.MERGED, reference={"ref_sha": merged.sha})
    closed = await issue_rows.close(tx, pull.id)
    if closed is not None:
        if closed.milestone_id:
            await count_in_milestone(tx, closed.milestone_id, closing=True)
        await counters.count_open(tx, context.repository.id, -1, is_pull=True)
        await wake_blocked(tx, context.jobs, pull.id)
    else:  # it was closed while repos merged it
        await pull_heads.add_job(tx, context, pull)
    await announce(tx, context, pull.id, "closed")
    await notify(tx, context, pull.id)
    source = Source(repository_id=context.repository.id, issue_id=pull.id, is_pull=True)
    writers = await text_editors.list_writers(tx, pull) if pull_references else []
    await act_on_merge(tx, context, source, pull_references, writers, merged.sha)
    if takes_branch:
        job = DeleteHeadBranch(
            issue_id=pull.id, repository_id=context.repository.id, actor_id=context.actor_id
        )
        await context.jobs.add(tx, DELETE_HEAD_BRANCH, pull.id, job, run_at=now() + DELETE_AFTER)


def may_delete_head(pull: AnyPull, repository: Repository) -> bool:
    """Return whether the head branch is neither the base nor the default branch."""
    own = pull.head_repository_id == repository.id
    return not own or pull.head_branch not in (pull.base_branch, repository.default_branch)


async def record_head_branch(tx: Tx, context: RepositoryContext, pull: AnyPull, *, deleted: bool) -> None:
    """Record that the head branch is deleted, or that it will not be deleted."""
    if not await counters.lock(tx, context.repository.id):
        return
    await store.keep_branch(tx, pull.pull_id)
    if deleted:
        details = Details(old_ref=pull.head_branch)
        await context.add_to_timeline(tx, pull.id, CommentKind.BRANCH_DELETED, details=details)
