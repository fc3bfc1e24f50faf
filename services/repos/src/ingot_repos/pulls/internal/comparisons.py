"""Internal routes for issues: compare one or many branches with a base branch."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import structlog
from litestar import post

from ingot_chassis.errors import BadRequest, NotFound, Unavailable
from ingot_contracts.repos.comparisons import (
    MOST_HEADS,
    Compare,
    CompareHeads,
    Comparison,
    Comparisons,
    Head,
    proposal_id,
)
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    RefMoved,
    RepositoryDamaged,
    RepositoryNotFound,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.pulls import rules as merges
from ingot_repos.pulls.internal.pulls import REPOSITORY, enter, missing_repository_is_not_found
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.store import proposals
from ingot_repos.repositories.internal.lookups import ISSUES, branch_tip

log = structlog.get_logger()

LONGEST_COMPARE = 120.0


@post(REPOSITORY + "/compare", policy=ISSUES, include_in_schema=False, status_code=200)
async def compare_branch(
    request: RepositoryRequest, repository_id: int, data: Compare, unattended: bool = False
) -> Comparison:
    """Compare a branch, which may be in a fork, with a base branch.

    The caller must be able to read the base repository. If the caller cannot read the fork, the commits that
    the base repository keeps for the pull request are compared. With ``unattended``, issues does not act for
    a user, so access is not checked.
    """
    head = Head(
        repository_id=data.head_repository_id,
        branch=data.head_branch,
        number=data.number,
        counted_base=data.counted_base,
        counted_head=data.counted_head,
    )
    with missing_repository_is_not_found():
        base = await enter(request, repository_id, unattended)
        pending = await _compare(request, base, data.base_branch, head, unattended)
        (comparison,) = await _judge(request, base, [pending])
    if comparison is None:
        raise Unavailable("the comparison could not be made")
    return comparison


@post(REPOSITORY + "/comparisons", policy=ISSUES, include_in_schema=False, status_code=200)
async def compare_branches(
    request: RepositoryRequest, repository_id: int, data: CompareHeads, unattended: bool = False
) -> Comparisons:
    """Compare many heads with one base.

    The result for a head is None if the branch is missing or unreadable, or its fork is damaged.
    """
    if len(data.heads) > MOST_HEADS:
        raise BadRequest(f"more than {MOST_HEADS} heads")
    base = await enter(request, repository_id, unattended)
    await branch_tip(request, base, data.base_branch)
    pending = [
        await _compare_or_none(request, base, data.base_branch, head, unattended) for head in data.heads
    ]
    return Comparisons(comparisons=await _judge(request, base, pending))


async def _compare_or_none(
    request: RepositoryRequest, base: ResolvedRepository, base_branch: str, head: Head, unattended: bool
) -> merges.PendingComparison | None:
    """Compare one head. Return None if it does not exist or its fork is damaged.

    So one bad head does not prevent the comparison of the others.
    """
    try:
        return await _compare(request, base, base_branch, head, unattended)
    except (NotFound, RepositoryNotFound):
        return None
    except (RepositoryDamaged, Unavailable) as error:
        is_damaged = isinstance(error, RepositoryDamaged) or isinstance(error.__cause__, GitFailed)
        if head.repository_id == base.id or not is_damaged:
            raise
        log.exception("head not compared", repository=base.id, head=head.repository_id)
        return None


async def _compare(
    request: RepositoryRequest, base: ResolvedRepository, base_branch: str, head: Head, unattended: bool
) -> merges.PendingComparison:
    if head.repository_id != base.id:
        try:
            await enter(request, head.repository_id, unattended)
        except NotFound:  # the base repository keeps commits of the pull request, and they may be read
            head = msgspec.structs.replace(head, repository_id=base.id, branch="")
    async with _comparing():
        pending = await merges.comparison(request.storage, request.part(Pushes), base.row, base_branch, head)
    if head.number and (proposed := proposal_id(head.branch)):
        async with request.db.transaction() as tx:
            await proposals.record(
                tx, base.id, proposed, number=head.number, compared_sha=pending.answer.head_sha
            )
    return pending


async def _judge(
    request: RepositoryRequest,
    base: ResolvedRepository,
    pending: Sequence[merges.PendingComparison | None],
) -> list[Comparison | None]:
    async with _comparing():
        return await merges.judged(request.storage, base.row, pending)


@asynccontextmanager
async def _comparing() -> AsyncIterator[None]:
    """Limit the time of a comparison. Raises Unavailable if the time ends or git fails."""
    try:
        async with asyncio.timeout(LONGEST_COMPARE):
            yield
    except (TimeoutError, GitTimedOut, GitFailed, RefMoved) as error:
        raise Unavailable("the comparison could not be made") from error


routes = [compare_branch, compare_branches]
