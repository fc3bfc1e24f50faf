"""Conflicts of a pull request, and the merge with their resolutions. Only web calls this, for its page."""

from litestar import get, post

from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.repos.conflicts import Conflicts, FindConflicts, Resolution, ResolveConflicts
from ingot_contracts.repos.merges import UpdatedBranch
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.records.store.states import State

PATH = "/internal/repos/{owner:str}/{repo:str}/pulls/{index:int}/conflicts"
POLICY = for_peer(in_repository("signed-in", "write:repository", "pulls", remembers=False), "web")


@get(PATH, policy=POLICY, include_in_schema=False)
async def find_conflicts(request: IssuesRequest, index: int) -> Conflicts:
    """Return the conflicts with the base branch, if the repository allows updates by a merge.

    The caller needs write access to the head branch.
    """
    pull = await _open_pull(request, index)
    question = FindConflicts(
        head_branch=pull.head_branch,
        head_sha=pull.head_sha,
        base_repository_id=request.repository_id,
        base_branch=pull.base_branch,
    )
    return await request.components.repos.find_conflicts(
        pull.head_repository_id, question, request.principal_token
    )


@post(PATH, policy=POLICY, include_in_schema=False, status_code=200)
async def resolve_conflicts(request: IssuesRequest, index: int, data: Resolution) -> UpdatedBranch:
    """Merge the base into the head branch with these texts. 409 if one of the branches has moved."""
    pull = await _open_pull(request, index)
    resolve = ResolveConflicts(
        head_branch=pull.head_branch,
        base_repository_id=request.repository_id,
        base_branch=pull.base_branch,
        resolution=data,
    )
    return await request.components.repos.resolve_conflicts(
        pull.head_repository_id, resolve, request.principal_token
    )


async def _open_pull(request: IssuesRequest, index: int) -> PullDetails:
    pull = await pull_of(request, index)
    if pull.state != State.OPEN:
        raise Invalid.field("index", "closed", "is a pull request that is merged or closed")
    if not request.access.repository.allow_merge_update:
        raise Denied("the repository does not allow the update style merge")
    return pull


routes = [find_conflicts, resolve_conflicts]
