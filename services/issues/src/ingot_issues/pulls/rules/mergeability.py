"""Mergeability of open pull requests: a push resets it, and a job compares the branches again.

A change of the setting ``ignore_whitespace_conflicts`` resets it, too.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.comparisons import MOST_HEADS, Comparison
from ingot_contracts.repos.events import PushReceived, RepositoryEdited
from ingot_contracts.repos.repositories import Repository
from ingot_issues.issues.rules.announcements import announce
from ingot_issues.pulls.store import rows as store
from ingot_issues.pulls.store.rows import ComparedRow
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.repositories.store import counters
from ingot_issues.reviews.rules.submission import NEW_HEAD, dismiss_stale_approvals
from ingot_issues.scheduled_merges import store as scheduled_merge_rows
from ingot_issues.scheduled_merges.rules import scheduling as scheduled_merges

CHECK = "pulls.check"
"""The kind of jobs that compare branches."""

Side = Literal["base", "head"]
NO_HEADS: Mapping[int, str] = MappingProxyType({})


class CheckMergeability(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job that compares pull requests of one base branch again.

    Reasons:

    - A push has moved their base or head (``side``) to ``sha``.
    - An edit of the repository, by the event ``edit_id``, changes which of them conflict. The last compared
      heads are compared again.
    - A pull request was ``reopened``. Both branches may have moved without a comparison.

    For a push to the base, ``before`` is the former tip. ``heads`` are heads that earlier pushes had moved
    and that were not compared since. After an ``imported`` push nothing is merged or announced.
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
    imported: bool = False


class Outdated(Exception):
    """A newer comparison was recorded, so the pull requests must be compared again."""


async def invalidate(tx: Tx, jobs: Jobs, push: PushReceived) -> None:
    """Compare open pull requests with this base or head again after a push to a branch.

    A pull request with a deleted base branch cannot be merged. A deleted head branch does not block the
    merge, because repos keeps its commits.
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
    # A mergeable pull request at this very commit was compared after the push. Others may wait for the job.
    outdated = [
        row
        for row in rows
        if not row.mergeable or (row.base_sha if is_base_of(row) else row.head_sha) != push.after
    ]
    # Another comparison may have found the head, but it knows nothing about the pusher, who may agree to it.
    compared = {row.issue_id: row for row in rows if row not in outdated and not is_base_of(row)}
    agreed = await scheduled_merge_rows.agreed_heads(tx, compared) if compared else {}
    outdated += [compared[issue_id] for issue_id, sha in agreed.items() if sha != push.after]
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
        imported=push.imported,
    )


async def invalidate_after_edit(
    tx: Tx, jobs: Jobs, edit: RepositoryEdited, before: Repository | None, edit_id: str
) -> None:
    """Compare open pull requests again if the setting for white-space conflicts has changed.

    If it was enabled, conflicts may be resolved; if it was disabled, new ones may appear. ``before`` is the
    copy of the repository, which may already include the edit. So while white space is ignored, the
    comparison follows each edit.
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
    imported: bool = False,
) -> None:
    """Add jobs for pull requests, grouped by the repository and branch of their base, and by ``side``."""
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
                imported=imported,
            )
            await add_check(tx, jobs, check)


async def add_check(tx: Tx, jobs: Jobs, check: CheckMergeability) -> None:
    """Add the job, unless an equal job is pending."""
    await jobs.add(tx, CHECK, hashlib.sha256(msgspec.json.encode(check)).hexdigest(), check)


async def record_comparisons(
    tx: Tx,
    context: RepositoryContext,
    compared: Sequence[tuple[AnyPull, Comparison]],
    *,
    dismisses: bool,
    imported: bool = False,
) -> None:
    """Record comparisons of pull requests, and announce moved heads unless ``imported``. Raises Outdated.

    ``dismisses``: dismiss approvals of a moved head.
    """
    if not compared:
        return
    await context.lock(tx)
    tips = await store.get_tips(tx, [pull.pull_id for pull, _ in compared])
    if any(
        tips.get(pull.pull_id) != (pull.base_branch, pull.base_sha, pull.head_sha) for pull, _ in compared
    ):
        raise Outdated
    await store.record_comparisons(tx, compared)
    for pull, comparison in compared:
        if comparison.head_sha != pull.head_sha:
            await issue_rows.change(tx, pull.id)
            if not imported:
                await announce_head(tx, context, pull, comparison)
            if dismisses:
                await dismiss_stale_approvals(tx, context, pull.id, NEW_HEAD)
    await scheduled_merges.wake(tx, context.jobs, [pull.id for pull, _ in compared])


async def announce_head(tx: Tx, context: RepositoryContext, pull: AnyPull, comparison: Comparison) -> None:
    """Announce a moved head after its comparison was recorded."""
    details = Details(old_ref=pull.head_sha, new_ref=comparison.head_sha)
    await context.add_to_timeline(tx, pull.id, CommentKind.COMMITS_ADDED, details=details)
    await announce(tx, context, pull.id, "synchronized")


async def follow_base(tx: Tx, jobs: Jobs, check: CheckMergeability, pulls: Sequence[AnyPull]) -> None:
    """Compare pull requests again if their base branch changed before the job of ``check`` ran.

    This is done only if a push moved their heads. A push to the former base branch does not affect them.
    """
    for pull in pulls if check.side == "head" else ():
        await add_check(
            tx,
            jobs,
            msgspec.structs.replace(check, base_branch=pull.base_branch, issue_ids=[pull.id]),
        )


def may_be_merged_by_push(pull: AnyPull, comparison: Comparison) -> bool:
    """Return whether the base has moved and contains a head that was ahead of it.

    The head may have moved as well, to a commit that the base had before or has now.
    """
    was_ahead = pull.head_sha != pull.merge_base
    return was_ahead and comparison.commits == 0 and comparison.base_sha != pull.base_sha


def is_merged_while_closed(pull: AnyPull, comparison: Comparison) -> bool:
    """Return whether a closed pull request may be merged by a push.

    Its branch may have other uses now, so the head must equal the last compared head.
    """
    return comparison.head_sha == pull.head_sha and may_be_merged_by_push(pull, comparison)
