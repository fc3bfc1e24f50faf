"""Merging a pull request, now or as soon as it is allowed."""

from datetime import datetime
from typing import Literal, cast

import msgspec
from litestar import Response, delete, get, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Denied, NotAllowed, NotFound
from ingot_contracts.identity import User
from ingot_contracts.issues import PullRequest
from ingot_contracts.limits import Name, Text
from ingot_contracts.pulls import MergeStyle
from ingot_contracts.repos import Repository
from ingot_issues.api import queries
from ingot_issues.api.policies import in_repository
from ingot_issues.api.pulls import present, pull_of
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core.access import may_administer, may_write
from ingot_issues.core.manual_merges import record_manual_merge
from ingot_issues.core.merge_options import MergeOptions
from ingot_issues.core.merge_refusals import MergeRefusal, list_refusals, why_not_mergeable
from ingot_issues.core.merge_saga import merge_pull
from ingot_issues.core.merges import MayCome
from ingot_issues.core.scheduled_merges import cancel, schedule
from ingot_issues.store import accounts, pulls, scheduled_merges
from ingot_issues.store.states import State


class MergePullRequest(msgspec.Struct, kw_only=True):
    """Everything may be absent. `head_commit_id` is the commit that the caller wants to merge.

    With `manually-merged` nothing is merged: `merge_commit_id` is the commit by which the base branch has it already.
    """

    style: MergeStyle | Literal["manually-merged"] | UnsetType = msgspec.field(name="do", default=UNSET)
    head_commit_id: Name = ""
    merge_commit_id: Name = ""
    mergecommitid: Name = ""
    merge_title_field: Name = ""
    merge_message_field: Text = ""
    title: Name = msgspec.field(name="mergetitlefield", default="")
    message: Text = msgspec.field(name="mergemessagefield", default="")
    headcommitid: Name = ""
    delete_branch_after_merge: bool | UnsetType = UNSET
    deletebranchaftermerge: bool | UnsetType = UNSET
    merge_when_checks_succeed: bool = False
    mergewhencheckssucceed: bool = False
    force_merge: bool = False
    forcemerge: bool = False

    @property
    def waits(self) -> bool:
        """Whether the merge is to wait until nothing refuses it any more."""
        return self.merge_when_checks_succeed or self.mergewhencheckssucceed

    def options(self, repository: Repository) -> MergeOptions:
        """Of two spellings of a field, the one that is there."""
        deletes = self.delete_branch_after_merge
        if deletes is UNSET:
            deletes = self.deletebranchaftermerge
        return MergeOptions(
            style=cast("MergeStyle", self.style or repository.default_merge_style),
            head_sha=self.head_commit_id or self.headcommitid,
            title=self.title or self.merge_title_field,
            message=self.message or self.merge_message_field,
            deletes_branch=repository.default_delete_branch_after_merge if deletes is UNSET else deletes,
            overrides=self.force_merge or self.forcemerge,
        )


@get(
    "/pulls/{index:int}/merge",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoPullRequestIsMerged",
    tags=["repository"],
    status_code=204,
)
async def is_merged(request: IssuesRequest, index: int) -> Response[None]:
    """204 when the pull request is merged, else 404; both without a body."""
    pull = await pull_of(request, index)
    return Response(None, status_code=204 if pull.merged else 404, media_type="text/plain")


@get(
    "/pulls/{index:int}/merge/refusals",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListMergeRefusals",
    tags=["repository"],
)
async def list_merge_refusals(request: IssuesRequest, index: int) -> list[MergeRefusal]:
    """Every reason why the caller cannot merge a pull request now; empty if it can be merged.

    What the protection of the branch demands, and what blocks it, only those hear who may write to the repository.
    What only a merge itself shows is not among them: commits without a signature, protected files, and a style that
    demands more.
    """
    pull, access, repos = await pull_of(request, index), request.access, request.components.repos
    rule, not_mergeable = None, ""
    if pull.state == State.OPEN and not pull.mergeable:
        not_mergeable = await why_not_mergeable(repos, pull, access.repository.id, request.principal_token)
    if may_write(access):
        rule = await repos.merge_rule(
            access.repository.id,
            pull.base_branch,
            pull.head_sha,
            request.principal_token,
            actor_id=request.principal.id,
        )
    async with request.db.read() as db:
        return await list_refusals(db, access, request.principal, pull, rule, not_mergeable)


@post(
    "/pulls/{index:int}/merge",
    policy=in_repository("write", "write:repository", "pulls", remembers=False),
    operation_id="repoMergePullRequest",
    tags=["repository"],
    status_code=200,
)
async def merge(request: IssuesRequest, index: int, data: MergePullRequest) -> Response[bytes]:
    """Merge a pull request; 409 when a branch moved meanwhile.

    405 says why when the repository does not allow the style, the title says that it is work in progress (`WIP:`), open
    issues block it, or the protection of the base branch demands more; otherwise it has no body. With
    `merge_when_checks_succeed` the answer is then 201, and the merge follows as soon as it is allowed.
    """
    pull, context = await pull_of(request, index), await request.context()
    repos, principal_token = request.components.repos, request.principal_token
    options = data.options(context.repository)
    if data.style == "manually-merged":
        sha = (data.merge_commit_id or data.mergecommitid).lower()
        await record_manual_merge(
            request.db, repos, context, pull, sha, principal_token, overrides=options.overrides
        )
        return Response(b"", media_type="text/plain")
    try:
        await merge_pull(request.db, repos, context, pull, options, principal_token)
    except NotAllowed:
        return Response(b"", status_code=405, media_type="text/plain")
    except MayCome:
        if not data.waits:
            raise
        async with request.db.transaction() as tx:
            await schedule(tx, context, pull, options)
        return Response(b"", status_code=201, media_type="text/plain")
    return Response(b"", media_type="text/plain")


class ScheduledMerge(msgspec.Struct, kw_only=True):
    """A merge that waits, and who scheduled it. `head_commit_id` is the commit that is to be merged, if one was named."""

    user: User
    style: MergeStyle = msgspec.field(name="do")
    head_commit_id: str
    delete_branch_after_merge: bool
    created_at: datetime


@get(
    "/pulls/{index:int}/merge/scheduled",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetScheduledMerge",
    tags=["repository"],
)
async def get_scheduled_merge(request: IssuesRequest, index: int) -> ScheduledMerge:
    """The merge of a pull request that waits until nothing refuses it; 404 when none does."""
    pull = await pull_of(request, index)
    async with request.db.read() as db:
        row = await scheduled_merges.get(db, pull.id)
        people = await accounts.get_people(db, [row.account_id]) if row is not None else {}
    if row is None:
        raise NotFound("no merge is scheduled")
    return ScheduledMerge(
        user=request.presenter.user(people.get(row.account_id)),
        style=row.style,
        head_commit_id=row.head_sha,
        delete_branch_after_merge=row.deletes_branch,
        created_at=row.created_at,
    )


@get(
    "/commits/{sha:str}/pull",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetCommitPullRequest",
    tags=["repository"],
)
async def get_merged_pull(request: IssuesRequest, sha: str) -> PullRequest:
    """The pull request that was merged as this commit, which is named by its full id."""
    async with request.db.read() as db:
        merged = await pulls.get_merged_details(db, request.repository_id, queries.storable(sha).lower())
    if merged is None:
        raise NotFound
    return await present(request, merged)


@delete(
    "/pulls/{index:int}/merge",
    policy=in_repository("write", "write:repository", "pulls"),
    operation_id="repoCancelScheduledAutoMerge",
    tags=["repository"],
    status_code=204,
)
async def cancel_merge(request: IssuesRequest, index: int) -> None:
    """Cancel a scheduled merge: who scheduled it and administrators of the repository may."""
    pull = await pull_of(request, index)
    async with request.db.read() as db:
        row = await scheduled_merges.get(db, pull.id)
    if row is None:
        raise NotFound("no merge is scheduled")
    if row.account_id != request.principal.id and not await request.allowed(may_administer):
        raise Denied("only who scheduled it and administrators of the repository may cancel it")
    context = await request.context()
    async with request.db.transaction() as tx:
        await cancel(tx, context, pull.id)


routes = [is_merged, list_merge_refusals, merge, get_scheduled_merge, get_merged_pull, cancel_merge]
