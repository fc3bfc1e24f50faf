"""Whether open pull requests can be merged: a push makes that unknown, and a job compares their branches again.

So does a setting of their repository that says what conflicts (``ignore_whitespace_conflicts``).
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.pulls import MOST_HEADS, Comparison
from ingot_contracts.repos import NO_COMMIT, PushReceived, Repository, RepositoryEdited
from ingot_issues.core import scheduled_merges
from ingot_issues.core.events import announce
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.core.reviews import dismiss_approvals
from ingot_issues.store import counters, issue_rows
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issue_rows import AnyPull
from ingot_issues.store.pulls import ComparedRow

CHECK = "pulls.check"
"""The kind of the job."""

Side = Literal["base", "head"]
NO_HEADS: Mapping[int, str] = MappingProxyType({})


class CheckMergeability(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The job: compare pull requests of one base branch again. A push has moved their base or head (``side``) to ``sha``.

    Or the event ``edit_id`` has changed what conflicts: then heads are compared as they were compared last.
    Or one was ``reopened``: both may have moved while nobody compared them.
    Of a push to the base: the tip ``before``, and ``heads`` to which earlier pushes had moved what was not compared since.
    """

    repository_id: int
    base_branch: str
    issue_ids: list[int]
    sha: str = msgspec.field(name="pushed")
    pusher_id: int
    restricted: bool = msgspec.field(default=False, name="confined")
    side: Side
    edit_id: str = ""
    reopened: bool = False
    before: str = ""
    heads: dict[int, str] = {}


class Outdated(Exception):
    """Another comparison was recorded meanwhile: compare again."""


async def invalidate(tx: Tx, jobs: Jobs, push: PushReceived) -> None:
    """After a push to a branch: compare the open pull requests again that the branch is base or head of.

    A pull request whose base branch is deleted cannot be merged. One whose head branch is deleted can: repos keeps
    its commits.
    """
    branch = push.ref.removeprefix("refs/heads/")
    rows = await store.list_open_on(tx, push.repository.id, branch)

    def is_base_of(row: ComparedRow) -> bool:
        return row.repository_id == push.repository.id and row.base_branch == branch

    for repository_id in sorted({row.repository_id for row in rows}):
        await counters.lock(tx, repository_id)
    if push.after != NO_COMMIT:
        await store.set_head_tip(tx, [row.id for row in rows if not is_base_of(row)], push.after)
    else:
        await store.forget_mergeable(tx, [row.id for row in rows if is_base_of(row)])
        return
    # A mergeable pull request at this very commit was compared after the push. Another one may wait for its check.
    outdated = [
        row
        for row in rows
        if not row.mergeable or (row.base_sha if is_base_of(row) else row.head_sha) != push.after
    ]
    await store.forget_mergeable(tx, [row.id for row in outdated if row.mergeable])
    groups: dict[tuple[int, str, Side], list[int]] = defaultdict(list)
    for row in outdated:
        side: Side = "base" if is_base_of(row) else "head"
        groups[row.repository_id, row.base_branch, side].append(row.issue_id)
    heads = {
        row.issue_id: row.head_tip
        for row in outdated
        if is_base_of(row) and row.head_tip not in ("", row.head_sha)
    }
    await _add_checks(
        tx,
        jobs,
        groups,
        sha=push.after,
        pusher_id=push.pusher.id,
        restricted=push.restricted,
        before=push.before,
        heads=heads,
    )


async def invalidate_after_edit(
    tx: Tx, jobs: Jobs, edit: RepositoryEdited, before: Repository | None, edit_id: str
) -> None:
    """Compare open pull requests again when it is now said otherwise whether white space conflicts.

    Ignoring it, those that conflict may fit; not ignoring it, those that fit may conflict. ``before`` is the copy of the
    repository, which may be as new as the edit: so while white space is ignored, each edit compares.
    """
    repository = edit.repository
    ignored = repository.ignore_whitespace_conflicts
    if not ignored and (before is None or not before.ignore_whitespace_conflicts):
        return
    rows = await store.list_open_into(tx, repository.id, mergeable=not ignored)
    if not rows:
        return
    await counters.lock(tx, repository.id)
    if not ignored:
        await store.forget_mergeable(tx, [row.id for row in rows])
    groups: dict[tuple[int, str, Side], list[int]] = defaultdict(list)
    for row in rows:
        groups[repository.id, row.base_branch, "head"].append(row.issue_id)
    await _add_checks(tx, jobs, groups, sha="", pusher_id=edit.sender.id, restricted=False, edit_id=edit_id)


async def _add_checks(
    tx: Tx,
    jobs: Jobs,
    groups: Mapping[tuple[int, str, Side], list[int]],
    *,
    sha: str,
    pusher_id: int,
    restricted: bool,
    edit_id: str = "",
    before: str = "",
    heads: Mapping[int, str] = NO_HEADS,
) -> None:
    """Add the jobs for issues by the repository and the branch of their base, and by ``side``."""
    for (repository_id, base_branch, side), issue_ids in groups.items():
        for start in range(0, len(issue_ids), MOST_HEADS):
            ids = issue_ids[start : start + MOST_HEADS]
            check = CheckMergeability(
                repository_id=repository_id,
                base_branch=base_branch,
                issue_ids=ids,
                sha=sha,
                pusher_id=pusher_id,
                restricted=restricted,
                side=side,
                edit_id=edit_id,
                before=before,
                heads={issue_id: heads[issue_id] for issue_id in ids if issue_id in heads},
            )
            await add_check(tx, jobs, check)


async def add_check(tx: Tx, jobs: Jobs, check: CheckMergeability) -> None:
    """Add the job, unless the same job waits already."""
    await jobs.add(tx, CHECK, hashlib.sha256(msgspec.json.encode(check)).hexdigest(), check)


async def record_comparisons(
    tx: Tx,
    context: RepositoryContext,
    compared: Sequence[tuple[AnyPull, Comparison]],
    *,
    dismisses: bool,
) -> None:
    """Record comparisons of pull requests, and announce the heads that have moved. Raises Outdated.

    ``dismisses``: the approvals of a head that has moved count no more.
    """
    if not compared:
        return
    await context.lock(tx)
    tips = await store.get_tips(tx, [pull.pull_id for pull, _ in compared])
    if any(tips.get(pull.pull_id) != (pull.base_sha, pull.head_sha) for pull, _ in compared):
        raise Outdated
    await store.record_comparisons(tx, compared)
    for pull, comparison in compared:
        if comparison.head_sha != pull.head_sha:
            await issue_rows.change(tx, pull.id)
            details = Details(old_ref=pull.head_sha, new_ref=comparison.head_sha)
            await context.add_to_timeline(tx, pull.id, CommentKind.COMMITS_ADDED, details=details)
            await announce(tx, context, pull.id, "synchronized")
            if dismisses:
                await dismiss_approvals(tx, context, pull.id)
    await scheduled_merges.wake(tx, context.jobs, [pull.id for pull, _ in compared])


def may_be_merged_by_push(pull: AnyPull, comparison: Comparison) -> bool:
    """Whether the base has moved and lacks nothing of a head that was ahead of it.

    The head may have moved as well: to what the base had before, or has now.
    """
    was_ahead = pull.head_sha != pull.merge_base
    return was_ahead and comparison.commits == 0 and comparison.base_sha != pull.base_sha


def is_merged_while_closed(pull: AnyPull, comparison: Comparison) -> bool:
    """The same for a pull request that was closed meanwhile: long enough for its branch to be used for something else.

    So its head must be the one that was compared before.
    """
    return comparison.head_sha == pull.head_sha and may_be_merged_by_push(pull, comparison)
