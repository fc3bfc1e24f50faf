"""Routes that merge pull requests, now or as soon as it is allowed."""

from asyncio import gather
from typing import Any, Literal, cast

import msgspec
from litestar import Response, delete, get, post
from msgspec import UNSET, UnsetType, structs

from ingot_chassis.errors import ApiError, Denied, NotFound, TooLarge
from ingot_chassis.http.openapi import TextForms, response_spec
from ingot_contracts.issues.merges import MergeRefusal, ScheduledMerge
from ingot_contracts.issues.pulls import PullRequest
from ingot_contracts.limits import Name, Text
from ingot_contracts.repos.merges import MergeStyle
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_administer, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import present, pull_of
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules.manual import record_manual_merge
from ingot_issues.merges.rules.recording import MergeRefused, NotYetMergeable
from ingot_issues.merges.rules.refusals import list_refusals, why_not_mergeable
from ingot_issues.merges.rules.saga import merge_pull
from ingot_issues.pulls.api.routes import (
    MOST_FILES,
    diff_of_files,
    number_and_form,
    require_target,
    text_of,
)
from ingot_issues.pulls.store import rows as pulls
from ingot_issues.records.store.states import State
from ingot_issues.scheduled_merges import store as scheduled_merges
from ingot_issues.scheduled_merges.rules.options import MergeOptions
from ingot_issues.scheduled_merges.rules.scheduling import cancel, schedule


class MergePullRequest(msgspec.Struct, kw_only=True):
    """A request to merge. All fields are optional.

    `head_commit_id` is the commit that the caller wants to merge, `base_branch` its target. 409 if one of
    them has changed. With `manually-merged` nothing is merged: `merge_commit_id` is the commit of the base
    branch that contains the changes.
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
    base_branch: Name = ""
    delete_branch_after_merge: bool | UnsetType = UNSET
    deletebranchaftermerge: bool | UnsetType = UNSET
    merge_when_checks_succeed: bool = False
    mergewhencheckssucceed: bool = False
    force_merge: bool = False
    forcemerge: bool = False

    @property
    def waits(self) -> bool:
        """Return whether the merge waits until nothing blocks it."""
        return self.merge_when_checks_succeed or self.mergewhencheckssucceed

    def options(self, repository: Repository) -> MergeOptions:
        """Return the merge options. Fields may have either spelling."""
        deletes = self.delete_branch_after_merge
        if deletes is UNSET:
            deletes = self.deletebranchaftermerge
        return MergeOptions(
            style=cast("MergeStyle", self.style or repository.default_merge_style),
            head_sha=self.head_commit_id or self.headcommitid,
            base_branch=self.base_branch,
            title=self.title or self.merge_title_field,
            message=self.message or self.merge_message_field,
            deletes_branch=repository.default_delete_branch_after_merge if deletes is UNSET else deletes,
            overrides=self.force_merge or self.forcemerge,
        )


class PullRequestAnswer(PullRequest, frozen=True, kw_only=True):
    """A pull request with the reasons of `GET …/merge/refusals`; null if repos is unavailable."""

    merge_refusals: list[MergeRefusal] | None


@get(
    "/pulls/{index:str}",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullRequest",
    tags=["repository"],
    responses={200: response_spec(PullRequestAnswer, "The pull request")},
    text_forms=TextForms(
        "repoDownloadPullDiffOrPatch",
        "diffType",
        ("diff", "patch"),
        "Get the changes of a pull request as text. With `binary` a diff includes binary files, as a patch "
        f"always does. `files` limits a diff to so many files, {MOST_FILES} at most, and `page` selects the "
        "next ones. `X-Total-Count` counts all files. `whitespace` then hides changes of white space: "
        "`ignore-all`, `ignore-change` (of its amount) or `ignore-eol` (at the ends of lines). "
        "With `commit_id`, `base_branch` or `merge_base` the status is 409 unless they are the present ones.",
        query=("binary", "files", "page", "whitespace", "commit_id", "base_branch", "merge_base"),
    ),
)
async def get_pull(
    request: IssuesRequest,
    index: str,
    binary: bool = False,
    files: int = 0,
    page: int = 1,
    whitespace: str = "",
    commit_id: str = "",
    base_branch: str = "",
    merge_base: str = "",
) -> Response[Any]:
    """Get a pull request by its number, with the reasons why the caller cannot merge it now.

    With `.diff` or `.patch` after the number, get its changes as text.
    """
    number, form = number_and_form(index)
    pull = await pull_of(request, number)
    if form is not None:
        require_target(pull, commit_id, base_branch, merge_base)
    if form == "diff" and files > 0:
        return await diff_of_files(request, pull, min(files, MOST_FILES), max(1, page), whitespace)
    if form is not None:
        return await text_of(request, pull, form, binary=binary)
    shown, refusals = await gather(present(request, pull), _refusals_if_available(request, pull))
    return Response(PullRequestAnswer(**structs.asdict(shown), merge_refusals=refusals))


async def _refusals_if_available(request: IssuesRequest, pull: PullDetails) -> list[MergeRefusal] | None:
    try:
        return await _refusals(request, pull)
    except ApiError:
        return None


@get(
    "/pulls/{index:int}/merge",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoPullRequestIsMerged",
    tags=["repository"],
    status_code=204,
)
async def is_merged(request: IssuesRequest, index: int) -> None:
    """Answer 204 if the pull request is merged, else 404."""
    if not (await pull_of(request, index)).merged:
        raise NotFound


@get(
    "/pulls/{index:int}/merge/refusals",
    policy=in_repository("read", "read:repository", "merges"),
    operation_id="repoListMergeRefusals",
    tags=["repository"],
)
async def list_merge_refusals(request: IssuesRequest, index: int) -> list[MergeRefusal]:
    """List the reasons why the caller cannot merge a pull request now; empty if it can be merged.

    Requirements of branch protection, and blocking issues, are listed only for callers with write access.
    Reasons that only a merge can find are missing: unsigned commits, protected files, and further
    requirements of a style.
    """
    return await _refusals(request, await pull_of(request, index))


async def _refusals(request: IssuesRequest, pull: PullDetails) -> list[MergeRefusal]:
    access, repos = request.access, request.components.repos
    rule, not_mergeable = None, None
    if pull.state == State.OPEN and not pull.mergeable:
        not_mergeable = await why_not_mergeable(repos, pull, access.repository.id, request.principal_token)
    if pull.state == State.OPEN and may_write(access):
        rule = await repos.merge_rule(
            access.repository.id,
            pull.base_branch,
            pull.head_sha,
            request.principal_token,
            actor_id=request.principal.id,
        )
    return await list_refusals(request.db, repos, access, request.principal, pull, rule, not_mergeable)


@post(
    "/pulls/{index:int}/merge",
    policy=in_repository("write", "write:repository", "merges", remembers=False),
    operation_id="repoMergePullRequest",
    tags=["repository"],
    status_code=200,
    bodiless=(405,),
)
async def merge(request: IssuesRequest, index: int, data: MergePullRequest) -> Response[bytes]:
    """Merge a pull request. The status is 409 if a branch has moved since.

    The status is 405 if the repository does not allow the style, or if the title begins with `WIP:`. It is
    also 405 while open issues block the merge, or while the protection of the base branch requires more.
    This response has no body. `X-Error-Message` has the reason, and `merge_refusals` of the pull request has
    all reasons.

    With `merge_when_checks_succeed` the status is 201 instead, and the merge follows as soon as it is
    allowed. A merge that needs more than a second of CPU time is also answered with 201, and follows at
    once. If it is blocked by then, it is cancelled, and the timeline has the reason.
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
    except NotYetMergeable:
        if not data.waits:
            raise
    except TooLarge as error:
        if options.overrides:  # a job bypasses no rule
            raise MergeRefused(str(error)) from error
        # Unlike a merge that waits, this one does not follow later pushes.
        options = structs.replace(options, head_sha=pull.head_sha)
    else:
        return Response(b"", media_type="text/plain")
    async with request.db.transaction() as tx:
        await schedule(tx, context, pull, options, waits=data.waits)
    return Response(b"", status_code=201, media_type="text/plain")


@get(
    "/pulls/{index:int}/merge/scheduled",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetScheduledMerge",
    tags=["repository"],
)
async def get_scheduled_merge(request: IssuesRequest, index: int) -> ScheduledMerge:
    """Get the scheduled merge of a pull request, or 404."""
    pull = await pull_of(request, index)
    if (scheduled := await scheduled_merge_of(request, pull.id)) is None:
        raise NotFound("no merge is scheduled")
    return scheduled


async def scheduled_merge_of(request: IssuesRequest, pull_id: int) -> ScheduledMerge | None:
    """Return the scheduled merge of a pull request, or None."""
    async with request.db.read() as db:
        row = await scheduled_merges.get(db, pull_id)
        if row is None:
            return None
        people = await accounts.get_people(db, [row.account_id])
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
    """Get the pull request that was merged as this commit (full id)."""
    async with request.db.read() as db:
        merged = await pulls.get_merged_details(db, request.repository_id, queries.storable(sha).lower())
    if merged is None:
        raise NotFound
    return await present(request, merged)


@delete(
    "/pulls/{index:int}/merge",
    policy=in_repository("write", "write:repository", "merges"),
    operation_id="repoCancelScheduledAutoMerge",
    tags=["repository"],
    status_code=204,
)
async def cancel_merge(request: IssuesRequest, index: int) -> None:
    """Cancel a scheduled merge. Allowed for the user who scheduled it, and for repository administrators."""
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


routes = [
    get_pull,
    is_merged,
    list_merge_refusals,
    merge,
    get_scheduled_merge,
    get_merged_pull,
    cancel_merge,
]
