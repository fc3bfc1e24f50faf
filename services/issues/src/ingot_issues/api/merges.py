"""Merging a pull request.

Claimed first, so that one request merges; then repos merges, then that is recorded. If the last step is lost,
the event of the push that repos made is recorded instead.
"""

import contextlib
import uuid

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound, Unavailable
from ingot_chassis.policy import resource
from ingot_contracts.pulls import Compare, Comparison, Merged, MergeStyle
from ingot_issues.api.call import Call
from ingot_issues.api.pulls import pull_row
from ingot_issues.core import checks, merges
from ingot_issues.core.access import may_write
from ingot_issues.core.references import find_in_opened
from ingot_issues.core.site import Site
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
    return Response(b"", media_type="text/plain")


async def _merge(request: Call, row: IssueRow, data: MergePullRequest) -> None:
    merges.refuse_ended(row)
    site, claim = await request.site(), str(uuid.uuid4())
    takes_branch = data.takes_branch and await _may_take_branch(request, row)
    async with request.db.transaction() as tx:
        await merges.claim_merge(tx, row, claim, takes_branch=takes_branch)
    try:
        merged = await _joined(request, site, row, data)
    except ApiError:
        # Even when it is not known whether it was merged: repos merges a number once, so asking again is safe.
        async with request.db.transaction() as tx:
            await store.release_merge(tx, row.pull_id, claim)
        raise
    found = await find_in_opened(row.title, row.body)
    async with request.db.transaction() as tx:
        await merges.record_merge(tx, site, row, merged, found)
    if takes_branch:
        with contextlib.suppress(Unavailable):  # a job tries again
            await merges.take_branch(request.db, request.repos, site, row.id, request.statement)


async def _joined(request: Call, site: Site, row: IssueRow, data: MergePullRequest) -> Merged:
    """Have repos merge the head as it is known here, or if it has moved since, as it is now."""
    wanted_sha = data.head_commit_id or data.headcommitid
    title, message = data.title or data.merge_title_field, data.message or data.merge_message_field

    async def asked(head_sha: str) -> Merged:
        wanted = merges.merge_of(row, head_sha, data.style, title, message)
        try:
            return await request.repos.merge(request.repository_id, wanted, request.statement)
        except NotFound:
            raise NotAllowed("the base branch is gone") from None

    moved = Conflict("the head branch has moved")
    if wanted_sha in ("", row.head_sha):
        try:
            return await asked(row.head_sha)
        except Conflict as refusal:
            moved = refusal
    compared = await _compared(request, row)
    if compared is None or compared.head_sha == row.head_sha or wanted_sha not in ("", compared.head_sha):
        raise moved
    try:
        async with request.db.transaction() as tx:
            await checks.note_comparisons(tx, site, [(row, compared)])
    except checks.Outdated:
        raise Conflict("a branch of the pull request moved; try again") from None
    return await asked(compared.head_sha)


async def _may_take_branch(request: Call, row: IssueRow) -> bool:
    """Whether the caller may write where the head is; a worker that takes the branch away knows no token's limits."""
    if row.head_repository_id == request.repository_id:
        return True
    try:
        return may_write(await request.repos.access_by_id(row.head_repository_id, request.statement))
    except NotFound:
        return False


async def _compared(request: Call, row: IssueRow) -> Comparison | None:
    """How the branches stand now; None when the base is gone."""
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
