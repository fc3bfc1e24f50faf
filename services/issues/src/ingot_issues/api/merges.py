"""Merging a pull request.

Claimed first, so that one request merges; then repos merges, then that is recorded. If the last step is lost,
the event of the push that repos made is recorded instead.
"""

import uuid

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, NotFound
from ingot_chassis.policy import resource
from ingot_contracts.repos import Compare, Comparison, MergeStyle
from ingot_issues.api.call import Call
from ingot_issues.api.pulls import pull_row
from ingot_issues.core import pulls
from ingot_issues.store import pulls as store
from ingot_issues.store.issues import IssueRow


class MergePullRequest(msgspec.Struct, kw_only=True):
    """Everything may be absent. ``head_commit_id`` is the commit that the caller wants to merge."""

    style: MergeStyle = msgspec.field(name="do", default="merge")
    head_commit_id: str = ""
    merge_title_field: str = ""
    merge_message_field: str = ""
    title: str = msgspec.field(name="mergetitlefield", default="")
    message: str = msgspec.field(name="mergemessagefield", default="")


@get(
    "/pulls/{index:int}/merge",
    policy=resource("read", "read:repository"),
    unit="pulls",
    operation_id="repoPullRequestIsMerged",
    tags=["repository"],
    status_code=204,
)
async def is_merged(request: Call, index: int) -> None:
    """204 when the pull request is merged, else 404."""
    row = await pull_row(request, index)
    if not row.merged:
        raise NotFound("the pull request is not merged")


@post(
    "/pulls/{index:int}/merge",
    policy=resource("write", "write:repository"),
    unit="pulls",
    operation_id="repoMergePullRequest",
    tags=["repository"],
    status_code=200,
)
async def merge(request: Call, index: int, data: MergePullRequest) -> Response[bytes]:
    """Merge a pull request; 405 when that is not possible, 409 when a branch moved meanwhile."""
    row = await pull_row(request, index)
    pulls.refuse_ended(row)
    compared = await _compared(request, row)
    head_sha = compared.head_sha if compared else row.head_sha
    if data.head_commit_id and data.head_commit_id != head_sha:
        raise Conflict("the head branch has moved")
    site, claim = await request.site(), str(uuid.uuid4())
    async with request.db.transaction() as tx:
        await pulls.claim_merge(tx, site, row, compared, claim)
    wanted = pulls.merge_of(
        row,
        head_sha,
        data.style,
        data.title or data.merge_title_field,
        data.message or data.merge_message_field,
    )
    try:
        merged = await request.repos.merge(request.repository_id, wanted, request.statement)
    except ApiError:
        # Even when it is not known whether it was merged: repos merges a number once, so asking again is safe.
        async with request.db.transaction() as tx:
            await store.release_merge(tx, row.pull_id, claim)
        raise
    async with request.db.transaction() as tx:
        await pulls.record_merge(tx, site, row, merged.sha)
    return Response(b"", media_type="text/plain")


async def _compared(request: Call, row: IssueRow) -> Comparison | None:
    """How the branches stand now; None when the head is gone and the last known commit counts."""
    wanted = Compare(
        base_branch=row.base_branch,
        head_repository_id=row.head_repository_id,
        head_branch=row.head_branch,
        number=row.number,
    )
    try:
        return await request.repos.compare(request.repository_id, wanted, request.statement)
    except NotFound:
        return None


routes = [is_merged, merge]
