"""Opening and editing pull requests. The route compares the branches before."""

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.issues import ChangedText, Changes
from ingot_contracts.pulls import Comparison
from ingot_issues.core.events import announce
from ingot_issues.core.issues import (
    IssueEdit,
    NewIssue,
    edit_issue,
    insert_issue,
    notify_of_new,
    refuse_duplicate,
)
from ingot_issues.core.mergeability import CheckMergeability, add_check
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import issue_rows
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issue_rows import AnyPull
from ingot_issues.store.issues import IssueDetails, PullDetails
from ingot_issues.store.pulls import Branches
from ingot_issues.store.states import State

LONGEST_BRANCH = 255
"""Characters. Repos has no branch with a longer name either."""


class Retarget(msgspec.Struct, frozen=True, kw_only=True):
    """Another base branch, and how the head compares with it."""

    base_branch: str
    comparison: Comparison


async def open_pull(
    tx: Tx, context: RepositoryContext, new_issue: NewIssue, branches: Branches, comparison: Comparison
) -> IssueDetails:
    """Open a pull request between repositories whose copies are saved. Raises Invalid or Conflict.

    A job then keeps its commits in the base repository under its number.
    """
    if comparison.commits == 0:
        raise Invalid.field("head", "no_commits", "has no commits that the base lacks")
    await context.lock(tx)
    await refuse_duplicate(tx, context.repository.id, branches)
    issue_id = (await insert_issue(tx, context, new_issue, is_pull=True)).id
    await store.add(tx, issue_id, branches, comparison)
    check = CheckMergeability(
        repository_id=context.repository.id,
        base_branch=branches.base_branch,
        issue_ids=[issue_id],
        sha=comparison.head_sha,
        pusher_id=context.actor_id,
        side="head",
        restricted=context.restricted,
    )
    await add_check(tx, context.jobs, check)
    await notify_of_new(tx, context, issue_id, new_issue)
    return await announce(tx, context, issue_id, "opened")


async def edit_pull(
    tx: Tx,
    context: RepositoryContext,
    pull: PullDetails,
    edit: IssueEdit,
    retarget: Retarget | None,
) -> IssueDetails:
    """Change the fields of an issue, and with ``retarget`` the base branch. Raises Conflict, Invalid or NotFound."""
    edited = await edit_issue(tx, context, pull, edit)
    return edited if retarget is None else await _change_base(tx, context, pull, retarget)


def refuse_other_base(pull: AnyPull) -> None:
    """Raises Conflict for a pull request that has ended."""
    if pull.merged:
        raise Conflict(
            "the pull request is merged, so its base branch stays; open a new one for another branch"
        )
    if pull.state != State.OPEN:
        raise Conflict("the pull request is closed; open it again, then give it another base branch")


async def _change_base(
    tx: Tx, context: RepositoryContext, pull: PullDetails, retarget: Retarget
) -> IssueDetails:
    row = await issue_rows.get_pull_by_id(tx, pull.id)
    if row is None:
        raise NotFound
    refuse_other_base(row)
    if retarget.comparison.commits == 0:
        raise Invalid.field("base", "no_commits", "has all commits of the head")
    branches = Branches(retarget.base_branch, row.head_repository_id, row.head_branch)
    await refuse_duplicate(tx, context.repository.id, branches)
    if not await store.move_base(tx, row.pull_id, retarget.base_branch, retarget.comparison):
        raise Conflict("the pull request is being merged; its base branch stays, unless the merge fails")
    await issue_rows.change(tx, row.id)
    details = Details(old_ref=row.base_branch, new_ref=retarget.base_branch)
    await context.add_to_timeline(tx, row.id, CommentKind.BASE_CHANGED, details=details)
    changes = Changes(ref=ChangedText(row.base_branch))
    return await announce(tx, context, row.id, "edited", changes=changes)
