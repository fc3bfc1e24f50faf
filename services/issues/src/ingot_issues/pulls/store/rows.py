"""SQL for the columns of pull requests that issues do not have."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import (
    Column,
    ColumnElement,
    String,
    bindparam,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
    union,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_contracts.repos.comparisons import Comparison, DiffCounts
from ingot_contracts.repos.merges import Merged
from ingot_issues.issues.store.details import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.records.store.pulls import Branches
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull


class ComparedRow(TypedRow):
    """The last comparison of a pull request, with the repository of its base."""

    id: int
    issue_id: int
    repository_id: int
    base_branch: str
    base_sha: str
    head_sha: str
    head_tip: str
    mergeable: bool


class TipsRow(TypedRow):
    """The base branch, and the last compared commits of base and head."""

    id: int
    base_branch: str
    base_sha: str
    head_sha: str


class TakesBranchRow(TypedRow):
    """A merged pull request. ``takes_branch`` is True if the head branch must be deleted."""

    takes_branch: bool


async def add(
    db: Executor,
    issue_id: int,
    branches: Branches,
    comparison: Comparison,
    *,
    allow_maintainer_edit: bool,
) -> None:
    values = {
        "issue_id": issue_id,
        "allow_maintainer_edit": allow_maintainer_edit,
        **branches._asdict(),
        **_compared_values(comparison),
    }
    await db.execute(pull.insert().values(values))


async def allow_maintainer_edit(db: Executor, pull_id: int, *, allow: bool) -> None:
    """Set whether users with write access to the base may push to the head branch."""
    await db.execute(update(pull).where(pull.c.id == pull_id).values(allow_maintainer_edit=allow))


async def get_newest_details(db: Executor, repository_id: int, branches: Branches) -> IssueDetails | None:
    """Return the latest pull request between these branches, or None."""
    statement = DETAILS.where(
        issue.c.repository_id == repository_id,
        pull.c.base_branch == branches.base_branch,
        pull.c.head_repository_id == branches.head_repository_id,
        pull.c.head_branch == branches.head_branch,
    )
    row = await fetch_first(db, statement.order_by(issue.c.id.desc()).limit(1), DetailsRow, viewer=0)
    return details_of(row) if row is not None else None


async def get_merged_details(db: Executor, repository_id: int, merge_sha: str) -> IssueDetails | None:
    """Return the latest pull request that was merged as this commit, or None.

    Several pull requests have the commit if all but one had no changes left to merge.
    """
    statement = DETAILS.where(issue.c.repository_id == repository_id, pull.c.merge_sha == merge_sha)
    row = await fetch_first(db, statement.order_by(issue.c.id.desc()).limit(1), DetailsRow, viewer=0)
    return details_of(row) if row is not None else None


_COMPARED = (
    pull.c.id,
    pull.c.issue_id,
    issue.c.repository_id,
    pull.c.base_branch,
    pull.c.base_sha,
    pull.c.head_sha,
    pull.c.head_tip,
    pull.c.mergeable,
)
_OPEN_PULL = (
    select(*_COMPARED)
    .join(issue, issue.c.id == pull.c.issue_id)
    .where(issue.c.state == literal_column(f"'{State.OPEN}'", String))
)
_REPOSITORY, _BRANCH = bindparam("of", type_=BigId), bindparam("branch", type_=String)
# An OR of conditions on two tables would scan all pull requests.
_ON_BRANCH = union(
    _OPEN_PULL.where(issue.c.repository_id == _REPOSITORY, issue.c.is_pull, pull.c.base_branch == _BRANCH),
    _OPEN_PULL.where(pull.c.head_repository_id == _REPOSITORY, pull.c.head_branch == _BRANCH),
).subquery("on_branch")
_OPEN_ON = PreparedQuery(select(_ON_BRANCH).order_by(_ON_BRANCH.c.id), ComparedRow)


async def list_open_on(db: Executor, repository_id: int, branch: str) -> Sequence[ComparedRow]:
    """Return open pull requests whose base or head is the branch."""
    return await _OPEN_ON.all(db, of=repository_id, branch=branch)


async def list_open_into(db: Executor, repository_id: int, *, mergeable: bool) -> Sequence[ComparedRow]:
    """Return open pull requests of a repository that are, or are not, mergeable by their last comparison."""
    statement = (
        select(pull, issue.c.repository_id)
        .join(issue, issue.c.id == pull.c.issue_id)
        .where(
            issue.c.repository_id == repository_id,
            issue.c.state == State.OPEN,
            pull.c.mergeable.is_(mergeable),
        )
        .order_by(pull.c.id)
    )
    return await fetch_all(db, statement, ComparedRow)


async def is_head_of_another(db: Executor, pull_id: int, head_repository_id: int, branch: str) -> bool:
    """Return whether another open pull request has this head."""
    statement = (
        select(pull.c.id)
        .join(issue, issue.c.id == pull.c.issue_id)
        .where(
            pull.c.head_repository_id == head_repository_id,
            pull.c.head_branch == branch,
            pull.c.id != pull_id,
            issue.c.state == State.OPEN,
        )
    )
    return (await db.execute(statement.limit(1))).scalar() is not None


async def move_base(db: Executor, pull_id: int, base_branch: str, comparison: Comparison) -> bool:
    """Save a new base branch and its comparison. Return False during or after a merge."""
    free = or_(pull.c.merge_claimed_until.is_(None), pull.c.merge_claimed_until < now())
    statement = update(pull).where(pull.c.id == pull_id, pull.c.merged.is_(False), free)
    values = {"base_branch": base_branch, **_compared_values(comparison)}
    return (await db.execute(statement.values(values))).rowcount == 1


async def forget_mergeable(db: Executor, pull_ids: list[int]) -> None:
    """Mark pull requests as not mergeable until they are compared again."""
    if not pull_ids:
        return
    await db.execute(update(pull).where(pull.c.id.in_(pull_ids)).values(mergeable=False))


async def set_head_tip(db: Executor, pull_ids: list[int], sha: str) -> None:
    """Record that a push has moved the heads of these pull requests to ``sha``."""
    if pull_ids:
        await db.execute(update(pull).where(pull.c.id.in_(pull_ids)).values(head_tip=sha))


async def get_tips(db: Executor, pull_ids: Sequence[int]) -> dict[int, tuple[str, str, str]]:
    """Return the base branch of these pull requests, and the last compared commits of base and head."""
    columns = (pull.c[name] for name in TipsRow.__annotations__)
    rows = await fetch_all(db, select(*columns).where(pull.c.id.in_(pull_ids)), TipsRow)
    return {row.id: (row.base_branch, row.base_sha, row.head_sha) for row in rows}


class HeadRow(TypedRow):
    issue_id: int
    repository_id: int
    head_sha: str


async def list_heads(db: Executor, issue_ids: Collection[int]) -> Sequence[HeadRow]:
    """Return the heads of open pull requests. ``repository_id`` is that of the base."""
    statement = (
        select(pull.c.issue_id, issue.c.repository_id, pull.c.head_sha)
        .join(issue, issue.c.id == pull.c.issue_id)
        .where(pull.c.issue_id.in_(issue_ids), issue.c.state == State.OPEN)
    )
    return await fetch_all(db, statement, HeadRow)


async def record_comparisons(db: Executor, comparisons: Sequence[tuple[AnyPull, Comparison]]) -> None:
    """Record comparisons of pull requests.

    A comparison without counts keeps the stored counts, if merge base and head are unchanged.
    """
    rows = [
        {"pull_id": row.pull_id, **_compared_values(comparison), **_counted_values(row, comparison)}
        for row, comparison in comparisons
    ]
    await db.execute(update(pull).where(pull.c.id == bindparam("pull_id", type_=BigId)), rows)


def _counted_values(row: AnyPull, comparison: Comparison) -> dict[str, int | None]:
    if comparison.counts is not None or (row.merge_base, row.head_sha) != (
        comparison.merge_base,
        comparison.head_sha,
    ):
        return _counts(comparison)
    return {name: getattr(row, name) for name in DiffCounts.__struct_fields__}


def _counts(comparison: Comparison) -> dict[str, int | None]:
    counts = comparison.counts
    return {name: None if counts is None else getattr(counts, name) for name in DiffCounts.__struct_fields__}


def _compared_values(comparison: Comparison) -> dict[str, str | bool | int | None]:
    return {
        **_counts(comparison),
        "base_sha": comparison.base_sha,
        "head_sha": comparison.head_sha,
        "head_tip": "",
        "merge_base": comparison.merge_base,
        "mergeable": comparison.mergeable,
    }


_UNMERGED = pull.c.id == bindparam("pull", type_=BigId), pull.c.merged.is_(False)
_CLAIM = PreparedWrite(
    update(pull)
    .where(
        *_UNMERGED,
        pull.c.head_sha == bindparam("head", type_=String),
        pull.c.base_branch == bindparam("base", type_=String),
        pull.c.merge_base == bindparam("ancestor", type_=String),
        or_(pull.c.merge_claimed_until.is_(None), pull.c.merge_claimed_until < bindparam("moment")),
        exists().where(issue.c.id == pull.c.issue_id, issue.c.state == State.OPEN.value),
    )
    .values(
        merge_claim=bindparam("claim"),
        merge_claimed_until=bindparam("claimed_until"),
        takes_branch=bindparam("takes"),
    )
)


async def claim_merge(
    db: Executor, row: AnyPull, claim: str, lease: timedelta, *, takes_branch: bool
) -> bool:
    """Claim the merge. Return False if the pull request has ended, is claimed, or differs from ``row``.

    ``takes_branch``: delete the head branch afterwards.
    """
    moment = now()
    values = {"claim": claim, "claimed_until": moment + lease, "takes": takes_branch}
    target = {"head": row.head_sha, "base": row.base_branch, "ancestor": row.merge_base}
    return await _CLAIM.run(db, pull=row.pull_id, moment=moment, **values, **target) == 1


async def release_merge(db: Executor, pull_id: int, claim: str, *, takes_branch: bool | None = None) -> None:
    """Release a claim. ``takes_branch`` replaces the claimed value.

    None does not change it, because repos may have merged.
    """
    values: dict[str, object] = {"merge_claim": None, "merge_claimed_until": None}
    if takes_branch is not None:
        values["takes_branch"] = takes_branch
    await db.execute(update(pull).where(pull.c.id == pull_id, pull.c.merge_claim == claim).values(values))


def _unless_empty(name: str, column: Column[str]) -> ColumnElement[str]:
    return func.coalesce(func.nullif(bindparam(name, type_=String), literal_column("''")), column)


_MARK_MERGED = PreparedWrite(
    update(pull)
    .where(*_UNMERGED)
    .values(
        merged=true(),
        merged_at=bindparam("moment"),
        merged_by=bindparam("account"),
        merge_sha=bindparam("sha"),
        merge_claim=null(),
        merge_claimed_until=null(),
        base_sha=_unless_empty("former_base", pull.c.base_sha),
        merge_base=_unless_empty("former_merge_base", pull.c.merge_base),
    )
    .returning(pull.c.takes_branch)
)


async def mark_merged(db: Executor, pull_id: int, merged: Merged, *, merged_by: int | None) -> bool | None:
    """Record the merge. Return whether to delete the head branch, or None if it was already recorded."""
    row = await _MARK_MERGED.first(
        db,
        TakesBranchRow,
        pull=pull_id,
        moment=now(),
        account=merged_by,
        sha=merged.sha,
        former_base=merged.base_sha,
        former_merge_base=merged.merge_base,
    )
    return row.takes_branch if row is not None else None


async def keep_branch(db: Executor, pull_id: int) -> None:
    """Record that the head branch will not be deleted, because it is deleted already or has to stay."""
    await db.execute(update(pull).where(pull.c.id == pull_id).values(takes_branch=False))
