"""Updates of a fork from its parent."""

import msgspec
from litestar import post

from ingot_chassis.errors import BadRequest
from ingot_contracts.limits import Name
from ingot_repos.access.api.policies import in_repository, require_on_disk, resolve_by_id
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.changes.api.files import ref_updates
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.forks.rules.upstreams import MergeType, merge_upstream
from ingot_repos.lfs.rules.objects import LfsObjects


class MergeUpstream(msgspec.Struct, kw_only=True):
    """A request to update a fork. `branch` defaults to the default branch.

    With `ff_only`, a needed merge commit is an error.
    """

    branch: Name = ""
    ff_only: bool = False


class UpstreamMerge(msgspec.Struct):
    merge_type: MergeType


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/merge-upstream",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoMergeUpstream",
    tags=["repository"],
    status_code=200,
)
async def follow_upstream(request: RepositoryRequest, data: MergeUpstream) -> UpstreamMerge:
    """Merge a branch of the parent into the same branch of a fork. Answers 409 on conflicts."""
    row = request.resource.row
    if row.fork_of is None:
        raise BadRequest("the repository is not a fork")
    parent = await resolve_by_id(request, row.fork_of)
    require_on_disk(request, parent)
    request.acquire_slot()
    merged = await merge_upstream(
        request.storage,
        request.part(LfsObjects),
        await ref_updates(request),
        request.part(ServerKeys).signer,
        parent.id,
        data.branch or row.default_branch,
        only_forward=data.ff_only,
    )
    return UpstreamMerge(merged)


routes = [follow_upstream]
