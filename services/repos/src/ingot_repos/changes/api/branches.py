"""Routes that create, move, rename and delete branches."""

from typing import Annotated

import msgspec
from litestar import Response, delete, patch, post, put

from ingot_chassis.errors import NotFound
from ingot_contracts.limits import Name
from ingot_contracts.repos.access import reaches
from ingot_git.changes.branches import branch_with_tip
from ingot_git.process.errors import RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.changes.api.branch_reads import Branch, branch_views
from ingot_repos.changes.api.files import ref_updates
from ingot_repos.changes.rules.branches import BranchEditor

Sha = Annotated[str, msgspec.Meta(max_length=40)]


class CreateBranch(msgspec.Struct, kw_only=True):
    """A new branch at `old_ref_name` (a branch, a tag or a commit) or at `old_branch_name` (a branch)."""

    new_branch_name: Name
    old_ref_name: Name = ""
    old_branch_name: Name = ""


class RenameBranch(msgspec.Struct, kw_only=True):
    name: Name


class UpdateBranch(msgspec.Struct, kw_only=True):
    """A move of a branch. With `old_commit_id` the branch must be at that commit.

    Without `force`, the new commit must contain the current commit of the branch.
    """

    new_commit_id: Sha
    old_commit_id: Sha = ""
    force: bool = False


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/branches",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoCreateBranch",
    tags=["repository"],
    status_code=201,
)
async def create_branch(request: RepositoryRequest, data: CreateBranch) -> Branch:
    """Create a branch at the given ref, by default at the default branch."""
    repository = request.resource
    branch = data.old_branch_name or repository.row.default_branch
    source = data.old_ref_name or BRANCHES + branch
    await (await _editor(request)).create(data.new_branch_name, source)
    try:
        tips = request.part(ReadCache).tips
        tip = await request.storage.call(repository.id, branch_with_tip, data.new_branch_name, tips)
    except (RefNotFound, RepositoryNotFound):  # already deleted again
        raise NotFound from None
    return (await branch_views(request, repository, [tip]))[0]


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/branches/{branch:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoUpdateBranch",
    tags=["repository"],
    status_code=204,
)
async def update_branch(request: RepositoryRequest, branch: str, data: UpdateBranch) -> None:  # noqa: ARG001
    """Move a branch to another commit."""
    editor = await _editor(request)
    await editor.move(request.rest_of_path(6), data.new_commit_id, data.old_commit_id, force=data.force)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}/branches/{branch:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoRenameBranch",
    tags=["repository"],
    status_code=204,
)
async def rename_branch(request: RepositoryRequest, branch: str, data: RenameBranch) -> None:  # noqa: ARG001
    """Rename a branch. Only administrators may rename the default branch."""
    may_move_default = reaches(request.resource.level, "admin")
    editor = await _editor(request)
    await editor.rename(request.rest_of_path(6), data.name, may_move_default=may_move_default)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/branches/{branch:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoDeleteBranch",
    tags=["repository"],
)
async def delete_branch(
    request: RepositoryRequest,
    branch: str,  # noqa: ARG001 - it is normalized
) -> Response[None]:
    """Delete a branch other than the default branch. `X-Deleted-Commit` has its last commit."""
    commit = await (await _editor(request)).delete(request.rest_of_path(6))
    return Response(None, headers={"X-Deleted-Commit": commit})


async def _editor(request: RepositoryRequest) -> BranchEditor:
    updates = await ref_updates(request)
    return BranchEditor(request.db, request.storage, request.presenter, updates)


routes = [create_branch, update_branch, rename_branch, delete_branch]
