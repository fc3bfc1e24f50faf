"""The steps of merging a pull request within this service: one request claims it, and the merge is recorded once.

``merge_saga`` puts them together with the calls to repos.
"""

from datetime import timedelta
from typing import NoReturn

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound
from ingot_contracts.pulls import MERGE_STYLES, Merged, MergeStyle
from ingot_contracts.repos import Repository
from ingot_issues.core import pull_heads
from ingot_issues.core.closing import close_and_reopen
from ingot_issues.core.dependencies import Blocked, refuse_blocked
from ingot_issues.core.events import announce
from ingot_issues.core.issues import count_in_milestone
from ingot_issues.core.notifications import notify
from ingot_issues.core.presenter import is_draft
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.core.scheduled_merges import wake_blocked
from ingot_issues.store import counters, issue_rows, scheduled_merges
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issue_rows import AnyPull
from ingot_issues.store.states import State

LEASE = timedelta(seconds=150)
"""Longer than a merge may take in repos. A claim that is older belongs to a dead process."""
DELETE_HEAD_BRANCH = "pull.take-branch"
"""The kind of the job."""
DELETE_AFTER = timedelta(seconds=60)
"""By then the request that merged has deleted the branch itself, or its process is dead."""


class DeleteHeadBranch(msgspec.Struct, frozen=True, kw_only=True):
    """The job: delete the head branch of a merged pull request, unless that is done."""

    issue_id: int
    repository_id: int
    actor_id: int


def refuse_ended(pull: AnyPull) -> None:
    """Raises NotAllowed for a pull request that is merged or closed."""
    if pull.merged:
        raise NotAllowed("the pull request is merged")
    if pull.state == State.CLOSED:
        raise NotAllowed("the pull request is closed")


class MergeRefused(ApiError):
    """Not in this style, or not yet; the words say why."""

    status = 405


class MayCome(MergeRefused):
    """What is missing may still come: a scheduled merge waits for it."""


def refuse_style(repository: Repository, style: MergeStyle) -> None:
    """Raises MergeRefused for a style that the repository does not allow."""
    if not getattr(repository, MERGE_STYLES[style]):
        raise MergeRefused(f"the repository does not allow the merge style {style}")


def refuse_draft(pull: AnyPull) -> None:
    """Raises MergeRefused for a pull request that is work in progress."""
    if is_draft(pull.title):
        raise MergeRefused("the title says that it is work in progress")


async def refuse_blocked_merge(db: Executor, repository: Repository, pull: AnyPull) -> None:
    """Raises MayCome while open issues block it."""
    try:
        await refuse_blocked(db, repository, pull.id)
    except Blocked as blocked:
        raise MayCome(str(blocked)) from None


async def claim_merge(db: Executor, pull: AnyPull, claim: str, *, takes_branch: bool) -> bool:
    """Let only this request merge it, and with ``takes_branch`` delete the head branch; False if it may not."""
    return await store.claim_merge(db, pull.pull_id, claim, LEASE, takes_branch=takes_branch)


async def refuse_claim(db: Executor, pull: AnyPull) -> NoReturn:
    """Say why a pull request could not be claimed. Raises NotFound, NotAllowed or Conflict."""
    row = await issue_rows.get_pull_by_id(db, pull.id)
    if row is None:
        raise NotFound
    refuse_ended(row)
    raise Conflict("another request is merging it now; read it again to see what came of that")


async def record_merge(
    tx: Tx,
    context: RepositoryContext,
    pull: AnyPull,
    merged: Merged,
    pull_references: list[Reference],
) -> None:
    """Record and announce a merge, once. ``pull_references`` are the references of title and body.

    The actor 0 stands for nobody: who merged is not recorded then.
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
    await close_and_reopen(tx, context, source, pull_references)
    if takes_branch:
        job = DeleteHeadBranch(
            issue_id=pull.id, repository_id=context.repository.id, actor_id=context.actor_id
        )
        await context.jobs.add(tx, DELETE_HEAD_BRANCH, pull.id, job, run_at=now() + DELETE_AFTER)


def may_delete_head(pull: AnyPull, repository: Repository) -> bool:
    """Whether the head branch is neither the base nor the default branch."""
    own = pull.head_repository_id == repository.id
    return not own or pull.head_branch not in (pull.base_branch, repository.default_branch)


async def record_head_branch(tx: Tx, context: RepositoryContext, pull: AnyPull, *, deleted: bool) -> None:
    """Record that the head branch is deleted, or stays for good."""
    if not await counters.lock(tx, context.repository.id):
        return
    await store.keep_branch(tx, pull.pull_id)
    if deleted:
        details = Details(old_ref=pull.head_branch)
        await context.add_to_timeline(tx, pull.id, CommentKind.BRANCH_DELETED, details=details)
