"""Proposing pull requests. Git itself is asked before, by the route."""

from typing import NamedTuple

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.issues import ChangedText, Changes
from ingot_contracts.pulls import Comparison
from ingot_contracts.repos import Repository
from ingot_issues.core.checks import CheckPulls, add_check
from ingot_issues.core.issues import Edit, Opening, edit, refuse_twin, write_opened
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

LONGEST_BRANCH = 255
"""Characters; repos has no branch with a longer name either."""


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


async def open_pull(tx: Tx, site: Site, opening: Opening, proposal: Proposal) -> IssueRow:
    """Open a pull request between repositories of which there are copies.

    A job then has its commits kept in the base repository under its number.
    """
    compared = proposal.comparison
    if compared.commits == 0:
        raise Invalid.field("head", "no_commits", "has no commits that the base lacks")
    await site.enter(tx)
    await refuse_twin(tx, site.repository.id, proposal)
    issue_id = (await write_opened(tx, site, opening, is_pull=True)).id
    await store.add(
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
    check = CheckPulls(
        repository_id=site.repository.id,
        base_branch=proposal.base_branch,
        issue_ids=[issue_id],
        pushed=compared.head_sha,
        pusher_id=site.actor_id,
        side="head",
        confined=site.confined,
    )
    await add_check(tx, site.jobs, check)
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
