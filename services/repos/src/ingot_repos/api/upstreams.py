"""Following the parent of a fork."""

import msgspec
from litestar import post

from ingot_chassis.errors import BadRequest
from ingot_contracts.limits import Name
from ingot_repos.api.file_changes import ref_updates
from ingot_repos.api.policies import in_repository, require_on_disk, resolve_by_id
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core.upstreams import MergeType, merge_upstream


class MergeUpstream(msgspec.Struct, kw_only=True):
    """Without `branch` the default one. With `ff_only` no merge commit is made."""

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
    """Bring the commits of the parent's branch into the same branch of a fork; 409 where they conflict."""
    row = request.resource.row
    if row.fork_of is None:
        raise BadRequest("the repository is not a fork")
    parent = await resolve_by_id(request, row.fork_of)
    require_on_disk(request, parent)
    request.acquire_slot()
    components = request.components
    merged = await merge_upstream(
        components.storage,
        components.lfs,
        await ref_updates(request),
        parent.id,
        data.branch or row.default_branch,
        only_forward=data.ff_only,
    )
    return UpstreamMerge(merged)


routes = [follow_upstream]
