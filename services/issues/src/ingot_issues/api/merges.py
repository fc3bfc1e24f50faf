"""Merging a pull request.

Claimed first, so that one request merges; then repos merges, then that is recorded. If the last step is lost,
the event of the push that repos made is recorded instead.
"""

import uuid

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound
from ingot_chassis.policy import resource
from ingot_contracts.repos import Compare, Comparison, MergeStyle
from ingot_issues.api.call import Call
from ingot_issues.api.pulls import pull_row
from ingot_issues.core import pulls
from ingot_issues.core.references import find_in_opened
from ingot_issues.store import comments, issues
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow


class MergePullRequest(msgspec.Struct, kw_only=True):
    """Everything may be absent. ``head_commit_id`` is the commit that the caller wants to merge."""

    style: MergeStyle = msgspec.field(name="do", default="merge")
    head_commit_id: str = ""
    merge_title_field: str = ""
    merge_message_field: str = ""
    title: str = msgspec.field(name="mergetitlefield", default="")
    message: str = msgspec.field(name="mergemessagefield", default="")
    headcommitid: str = ""
    delete_branch_after_merge: bool = False
    deletebranchaftermerge: bool = False

    @property
    def takes_branch(self) -> bool:
        return self.delete_branch_after_merge or self.deletebranchaftermerge


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
    """Merge a pull request; 405 without a body when that is not possible, 409 when a branch moved meanwhile."""
    row = await pull_row(request, index)
    try:
        await _merge(request, row, data)
    except NotAllowed:
        return Response(b"", status_code=405, media_type="text/plain")
    if data.takes_branch:
        await _take_branch(request, row)
    return Response(b"", media_type="text/plain")


async def _merge(request: Call, row: IssueRow, data: MergePullRequest) -> None:
    pulls.refuse_ended(row)
    compared = await _compared(request, row)
    head_sha = compared.head_sha if compared else row.head_sha
    wanted_sha = data.head_commit_id or data.headcommitid
    if wanted_sha and wanted_sha != head_sha:
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
    found = await find_in_opened(row.title, row.body)
    async with request.db.transaction() as tx:
        await pulls.record_merge(tx, site, row, merged.sha, found)


async def _take_branch(request: Call, row: IssueRow) -> None:
    """Delete the head branch, if the caller may and nothing else needs it. The merge stands in any case."""
    async with request.db.read() as db:
        merged = await issues.get_by_id(db, row.id)
        needed = await store.is_proposed_elsewhere(db, row.pull_id, row.head_repository_id, row.head_branch)
    if merged is None or needed or not pulls.may_lose_head(row, request.access.repository):
        return
    try:
        await request.repos.take_branch(
            row.head_repository_id, row.head_branch, merged.head_sha, request.statement
        )
    except ApiError:  # it moved, or is gone, or is not the caller's
        return
    site = await request.site()
    async with request.db.transaction() as tx:
        await site.note(tx, row.id, comments.BRANCH_DELETED, details=Details(old_ref=row.head_branch))


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
