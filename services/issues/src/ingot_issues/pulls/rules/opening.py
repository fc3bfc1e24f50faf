"""Opening and editing of pull requests. The route compares the branches first."""

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.issues.events import ChangedText, IssueChanges
from ingot_contracts.repos.comparisons import Comparison
from ingot_issues.issues.rules.announcements import announce
from ingot_issues.issues.rules.editing import (
    IssueEdit,
    NewIssue,
    edit_issue,
    insert_issue,
    notify_of_new,
    refuse_duplicate,
)
from ingot_issues.issues.store.details import IssueDetails, PullDetails
from ingot_issues.pulls.rules.mergeability import CheckMergeability, add_check, announce_head
from ingot_issues.pulls.store import rows as store
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.records.store.pulls import Branches
from ingot_issues.records.store.states import State
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.reviews.rules.submission import NEW_BASE, dismiss_stale_approvals
from ingot_issues.scheduled_merges.rules import scheduling as scheduled_merges

LONGEST_BRANCH = 255
"""Characters of a branch name. repos has the same limit."""


class Retarget(msgspec.Struct, frozen=True, kw_only=True):
    """A new base branch, with its comparison to the head.

    ``dismisses``: the rule of the new base dismisses stale approvals.
    """

    base_branch: str
    comparison: Comparison
    dismisses: bool


async def open_pull(
    tx: Tx,
    context: RepositoryContext,
    new_issue: NewIssue,
    branches: Branches,
    comparison: Comparison,
    *,
    allow_maintainer_edit: bool = False,
) -> IssueDetails:
    """Open a pull request between repositories whose copies are saved. Raises Invalid or Conflict.

    A job then stores its commits in the base repository under the pull request's number.
    """
    if comparison.commits == 0:
        raise Invalid.field("head", "no_commits", "has no commits that the base lacks")
    await context.lock(tx)
    await refuse_duplicate(tx, context.repository.id, branches)
    issue_id = (await insert_issue(tx, context, new_issue, is_pull=True)).id
    await store.add(tx, issue_id, branches, comparison, allow_maintainer_edit=allow_maintainer_edit)
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
    *,
    allow_maintainer_edit: bool | None = None,
) -> IssueDetails:
    """Change the fields that a pull request shares with issues, and with ``retarget`` its base branch.

    Raises Conflict, Invalid or NotFound.
    """
    edited = await edit_issue(tx, context, pull, edit)
    if allow_maintainer_edit not in (None, pull.allow_maintainer_edit):
        await store.allow_maintainer_edit(tx, pull.pull_id, allow=bool(allow_maintainer_edit))
        edited = await announce(tx, context, pull.id, "edited")
    return edited if retarget is None else await _change_base(tx, context, pull, retarget)


def refuse_other_base(pull: AnyPull) -> None:
    """Raise Conflict for a merged or closed pull request."""
    if pull.merged:
        raise Conflict(
            "the pull request is merged, so its base branch stays; open a new one for another branch"
        )
    if pull.state != State.OPEN:
        raise Conflict("the pull request is closed; open it again, then give it another base branch")


async def _change_base(
    tx: Tx, context: RepositoryContext, pull: PullDetails, retarget: Retarget
) -> IssueDetails:
    """Change the base branch. Cancel a scheduled merge, because it was for the former base."""
    row = await issue_rows.get_pull_by_id(tx, pull.id)
    if row is None:
        raise NotFound
    refuse_other_base(row)
    if (row.base_branch, row.head_sha) != (pull.base_branch, pull.head_sha):
        raise Conflict("the pull request has changed; look at it again, then change its base branch")
    if retarget.comparison.commits == 0:
        raise Invalid.field("base", "no_commits", "has all commits of the head")
    branches = Branches(retarget.base_branch, row.head_repository_id, row.head_branch)
    await refuse_duplicate(tx, context.repository.id, branches)
    if not await store.move_base(tx, row.pull_id, retarget.base_branch, retarget.comparison):
        raise Conflict("the pull request is being merged; its base branch stays, unless the merge fails")
    await issue_rows.change(tx, row.id)
    details = Details(old_ref=row.base_branch, new_ref=retarget.base_branch)
    await context.add_to_timeline(tx, row.id, CommentKind.BASE_CHANGED, details=details)
    await scheduled_merges.cancel_all(tx, context, [row.id])
    if retarget.comparison.head_sha != row.head_sha:
        await announce_head(tx, context, row, retarget.comparison)
    if retarget.dismisses:
        await dismiss_stale_approvals(tx, context, row.id, NEW_BASE)
    changes = IssueChanges(ref=ChangedText(row.base_branch))
    return await announce(tx, context, row.id, "edited", changes=changes)
