"""Proposing, following and merging pull requests. Git itself is asked before, by route or worker."""

from datetime import timedelta
from typing import Any, Literal, NamedTuple

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict, Invalid, NotAllowed, NotFound
from ingot_chassis.jobs import Jobs
from ingot_chassis.tables import now
from ingot_contracts.issues import ChangedText, Changes
from ingot_contracts.repos import NO_COMMIT, Comparison, Merge, MergeStyle, PushReceived, Repository
from ingot_issues.core.closing import act_on
from ingot_issues.core.issues import (
    Edit,
    Opening,
    count_in_milestone,
    edit,
    refuse_twin,
    write_opened,
)
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

CHECK = "pull.check"
LONGEST_BRANCH = 255
"""Characters; repos has no branch with a longer name either."""
MERGE_LEASE = timedelta(seconds=150)
"""Longer than a merge may take in repos. A claim that old is a dead process's."""


class CheckPull(msgspec.Struct, frozen=True, kw_only=True):
    """The job: compare again, since ``pushed`` is the tip of a branch. ``pusher_id`` pushed it."""

    issue_id: int
    pushed: str
    pusher_id: int
    confined: bool = False
    side: Literal["base", "head"]


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """Branches to be joined. ``number`` comes later."""

    base_branch: str
    head_repository: Repository
    head_branch: str
    comparison: Comparison

    @property
    def head_repository_id(self) -> int:
        return self.head_repository.id


class Branches(NamedTuple):
    """What a pull request would join."""

    base_branch: str
    head_repository_id: int
    head_branch: str


class Outdated(Exception):
    """Another comparison was noted meanwhile; compare again."""


async def open_pull(tx: Tx, site: Site, opening: Opening, proposal: Proposal) -> IssueRow:
    """Open a pull request. A job then has its commits kept in the base repository under its number."""
    compared = proposal.comparison
    if compared.commits == 0:
        raise Invalid.field("head", "no_commits", "has no commits that the base lacks")
    await site.enter(tx)
    await refuse_twin(tx, site.repository.id, proposal)
    issue_id = (await write_opened(tx, site, opening, is_pull=True)).id
    pull_id = await store.add(
        tx,
        issue_id=issue_id,
        base_branch=proposal.base_branch,
        base_sha=compared.base_sha,
        head_repository_id=proposal.head_repository_id,
        head_branch=proposal.head_branch,
        head_sha=compared.head_sha,
        merge_base=compared.merge_base,
        mergeable=compared.mergeable,
    )
    await repositories.save(tx, site.repository)
    if proposal.head_repository_id != site.repository.id:
        await repositories.save(tx, proposal.head_repository)
    check = CheckPull(
        issue_id=issue_id,
        pushed=compared.head_sha,
        pusher_id=site.actor_id,
        side="head",
        confined=site.confined,
    )
    await site.jobs.add(tx, CHECK, f"{pull_id}:{compared.head_sha}:head", check)
    return await site.announce(tx, issue_id, "opened")


async def edit_pull(
    tx: Tx, site: Site, seen: IssueRow, wanted: Edit, base_branch: str, compared: Comparison | None
) -> IssueRow:
    """Change what issues have, too, and with a comparison also the base branch; the new row."""
    row = await edit(tx, site, seen, wanted)
    return row if compared is None else await retarget(tx, site, row, base_branch, compared)


async def retarget(tx: Tx, site: Site, seen: IssueRow, base_branch: str, compared: Comparison) -> IssueRow:
    """Propose it for another base branch. Raises Conflict or Invalid."""
    row = await issues.get_by_id(tx, seen.id)
    if row is None:
        raise NotFound
    if row.state != "open":
        raise Conflict("the pull request is merged or closed")
    if compared.commits == 0:
        raise Invalid.field("base", "no_commits", "has all commits of the head")
    proposed = Branches(base_branch, row.head_repository_id, row.head_branch)
    await refuse_twin(tx, site.repository.id, proposed)
    if not await store.move_base(
        tx,
        row.pull_id,
        base_branch=base_branch,
        base_sha=compared.base_sha,
        head_sha=compared.head_sha,
        merge_base=compared.merge_base,
        mergeable=compared.mergeable,
    ):
        raise Conflict("the pull request is being merged")
    await issues.change(tx, row.id)
    moved = Details(old_ref=row.base_branch, new_ref=base_branch)
    await site.note(tx, row.id, comments.BASE_CHANGED, details=moved)
    return await site.announce(tx, row.id, "edited", changes=Changes(ref=ChangedText(row.base_branch)))


async def follow_push(tx: Tx, jobs: Jobs, push: PushReceived) -> None:
    """A branch moved: the open pull requests that it is base or head of are to be checked.

    Nothing is merged into a branch that is gone; a head that is gone can be merged, its commits are kept.
    """
    branch = push.ref.removeprefix("refs/heads/")
    found = await store.open_on(tx, push.repository.id, branch)
    on_base = [
        row.id for row in found if row.repository_id == push.repository.id and row.base_branch == branch
    ]
    if push.after == NO_COMMIT:
        await store.forget_mergeable(tx, on_base)
        return
    await store.forget_mergeable(tx, [row.id for row in found])
    for row in found:
        side: Literal["base", "head"] = "base" if row.id in on_base else "head"
        check = CheckPull(
            issue_id=row.issue_id,
            pushed=push.after,
            pusher_id=push.pusher.id,
            confined=push.confined,
            side=side,
        )
        await jobs.add(tx, CHECK, f"{row.id}:{push.after}:{side}", check)


async def note_comparison(tx: Tx, site: Site, seen: IssueRow, compared: Comparison) -> None:
    """Keep what a comparison found, and tell when the head has moved. Raises Outdated."""
    await site.enter(tx)
    kept = await store.compared(
        tx,
        seen,
        base_sha=compared.base_sha,
        head_sha=compared.head_sha,
        merge_base=compared.merge_base,
        mergeable=compared.mergeable,
    )
    if not kept:
        raise Outdated
    if compared.head_sha != seen.head_sha:
        await issues.change(tx, seen.id)
        pushed = Details(old_ref=seen.head_sha, new_ref=compared.head_sha)
        await site.note(tx, seen.id, comments.PUSHED, details=pushed)
        await site.announce(tx, seen.id, "synchronized")


def is_joined(seen: IssueRow, compared: Comparison) -> bool:
    """Whether the base, as it moved, has brought all of a head that was ahead of it.

    The head may have moved too, but not back to what the base had before.
    """
    was_ahead = seen.head_sha != seen.merge_base
    return (
        was_ahead
        and compared.commits == 0
        and compared.base_sha != seen.base_sha
        and compared.head_sha not in (seen.base_sha, seen.merge_base)
    )


def refuse_ended(seen: IssueRow) -> None:
    """Raises NotAllowed for what is merged or closed."""
    if seen.merged:
        raise NotAllowed("the pull request is merged")
    if seen.state == "closed":
        raise NotAllowed("the pull request is closed")


async def claim_merge(tx: Tx, site: Site, seen: IssueRow, compared: Comparison | None, claim: str) -> None:
    """Be the only one that merges it. Raises NotAllowed or Conflict."""
    await site.enter(tx)
    row = await issues.get_by_id(tx, seen.id)
    if row is None:
        raise NotFound
    refuse_ended(row)
    if compared is not None:
        try:
            await note_comparison(tx, site, row, compared)
        except Outdated:
            raise Conflict("a branch of the pull request moved; try again") from None
    mergeable = row.mergeable if compared is None else compared.mergeable
    if not mergeable:
        raise NotAllowed("the pull request cannot be merged: the branches conflict")
    if not await store.claim_merge(tx, row.pull_id, claim, MERGE_LEASE):
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
    )


async def record_merge(tx: Tx, site: Site, seen: IssueRow, sha: str, found: list[Reference]) -> bool:
    """Note and tell that it is merged, once; False when it was noted before. ``found`` are its references."""
    await site.enter(tx)
    if not await store.mark_merged(tx, seen.pull_id, sha=sha, merged_by=site.actor_id):
        return False
    row: Any = await issues.get_by_id(tx, seen.id)
    await site.note(tx, row.id, comments.MERGED, ref_sha=sha)
    if row.state == "open":
        await issues.change(tx, row.id, state="closed", closed_at=now())
        await count_in_milestone(tx, row.milestone_id, closing=True)
        await repositories.count_open(tx, site.repository.id, -1, is_pull=True)
    await site.announce(tx, row.id, "closed")
    source = Source(repository_id=site.repository.id, issue_id=row.id, is_pull=True)
    await act_on(tx, site, source, found)
    return True


def may_lose_head(row: IssueRow, repository: Repository) -> bool:
    """Whether the head branch can be taken away: not the base, not the default branch."""
    own = row.head_repository_id == repository.id
    return not own or row.head_branch not in (row.base_branch, repository.default_branch)
