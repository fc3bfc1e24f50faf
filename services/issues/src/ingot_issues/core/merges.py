"""Merging pull requests: one request at a time claims it, repos merges, and then that is recorded, once."""

from datetime import timedelta

import msgspec

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound, Unavailable
from ingot_chassis.tables import now
from ingot_contracts.pulls import Merge, Merged, MergeStyle
from ingot_contracts.repos import Repository
from ingot_issues.clients.repos import Repos
from ingot_issues.core.closing import act_on
from ingot_issues.core.issues import count_in_milestone
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

LEASE = timedelta(seconds=150)
"""Longer than a merge may take in repos. A claim that old is a dead process's."""
TAKE = "pull.take-branch"
TAKE_AFTER = timedelta(seconds=60)
"""By then the request that merged has deleted the branch itself, or its process is dead."""


class TakeBranch(msgspec.Struct, frozen=True, kw_only=True):
    """The job: delete the head branch of a merged pull request, unless that is done."""

    issue_id: int
    repository_id: int
    actor_id: int


def refuse_ended(seen: IssueRow) -> None:
    """Raises NotAllowed for what is merged or closed."""
    if seen.merged:
        raise NotAllowed("the pull request is merged")
    if seen.state == "closed":
        raise NotAllowed("the pull request is closed")


async def claim_merge(tx: Tx, seen: IssueRow, claim: str, *, takes_branch: bool) -> None:
    """Be the only one that merges it. ``takes_branch``: and deletes the head branch. Raises NotAllowed or Conflict."""
    if await store.claim_merge(tx, seen.pull_id, claim, LEASE, takes_branch=takes_branch):
        return
    row = await issues.get_by_id(tx, seen.id)
    if row is None:
        raise NotFound
    refuse_ended(row)
    raise Conflict("the pull request is being merged")


def merge_of(row: IssueRow, head_sha: str, style: MergeStyle, title: str, message: str) -> Merge:
    """What repos is asked to do; with the usual title unless there is one."""
    usual = (
        f"{row.title} (#{row.number})"
        if style == "squash"
        else f"Merge pull request '{row.title}' (#{row.number}) from {row.head_branch} into {row.base_branch}"
    )
    return Merge(
        number=row.number,
        base_branch=row.base_branch,
        head_sha=head_sha,
        style=style,
        title=title or usual,
        message=message,
        head_repository_id=row.head_repository_id,
        head_branch=row.head_branch,
    )


async def record_merge(tx: Tx, site: Site, seen: IssueRow, merged: Merged, found: list[Reference]) -> None:
    """Note and tell that it is merged, once. ``found`` are its references."""
    await site.enter(tx)
    takes_branch = await store.mark_merged(tx, seen.pull_id, merged, merged_by=site.actor_id)
    if takes_branch is None:
        return
    await site.note(tx, seen.id, comments.MERGED, ref_sha=merged.sha)
    closed = await issues.close(tx, seen.id)
    if closed is not None:
        await count_in_milestone(tx, closed.milestone_id, closing=True)
        await repositories.count_open(tx, site.repository.id, -1, is_pull=True)
    await site.announce(tx, seen.id, "closed")
    source = Source(repository_id=site.repository.id, issue_id=seen.id, is_pull=True)
    await act_on(tx, site, source, found)
    if takes_branch:
        job = TakeBranch(issue_id=seen.id, repository_id=site.repository.id, actor_id=site.actor_id)
        await site.jobs.add(tx, TAKE, seen.id, job, run_at=now() + TAKE_AFTER)


def may_lose_head(row: IssueRow, repository: Repository) -> bool:
    """Whether the head branch can be taken away: not the base, not the default branch."""
    own = row.head_repository_id == repository.id
    return not own or row.head_branch not in (row.base_branch, repository.default_branch)


async def take_branch(
    db: Database, repos: Repos, site: Site, issue_id: int, statement: str | None = None
) -> None:
    """Delete the head branch of a merged pull request, if that was asked for and is not done. Raises Unavailable.

    It stays when it has moved, when another pull request needs it, and when the actor of ``site`` may not.
    ``statement`` None: a worker does it in their stead.
    """
    async with db.read() as reader:
        row = await issues.get_by_id(reader, issue_id)
        if row is None or not row.takes_branch:
            return
        head = row.head_repository_id, row.head_branch
        needed = await store.is_proposed_elsewhere(reader, row.pull_id, *head)
    taken = False
    if not needed and may_lose_head(row, site.repository):
        try:
            await repos.take_branch(*head, row.head_sha, statement, actor_id=site.actor_id)
            taken = True
        except Unavailable:
            raise
        except ApiError:  # it moved, or is gone, or is not the actor's
            pass
    async with db.transaction() as tx:
        if not await repositories.lock(tx, site.repository.id):
            return
        await store.leave_branch(tx, row.pull_id)
        if taken:
            await site.note(tx, row.id, comments.BRANCH_DELETED, details=Details(old_ref=row.head_branch))
