"""Internal routes for issues: conflicts of a pull request, and the merge with their resolutions."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from litestar import post

from ingot_chassis.errors import Unavailable
from ingot_contracts.repos.conflicts import Conflicts, FindConflicts, ResolveConflicts
from ingot_contracts.repos.merges import UpdatedBranch
from ingot_git.process.errors import GitFailed, GitTimedOut
from ingot_repos.access.api.policies import require_on_disk
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.changes.api.files import ref_updates_in
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.pulls import rules as merges
from ingot_repos.pulls.internal.pulls import (
    REPOSITORY,
    enter,
    missing_repository_is_not_found,
    resolve_for_update,
)
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.repositories.internal.lookups import ISSUES


@post(REPOSITORY + "/conflicts", policy=ISSUES, include_in_schema=False, status_code=200)
async def find_conflicts(request: RepositoryRequest, repository_id: int, data: FindConflicts) -> Conflicts:
    """Return the conflicts of a merge of a base branch into a branch that the caller may move."""
    repository, base = await _enter(request, repository_id, data.head_branch, data.base_repository_id)
    with _merging():
        conflicts = await merges.find_conflicts(request.storage, repository.row, base.row, data)
    return msgspec.convert(
        {
            "head_sha": conflicts.head,
            "base_sha": conflicts.base,
            "files": conflicts.files,
            "obstacle": conflicts.obstacle,
        },
        Conflicts,
        from_attributes=True,
    )


@post(REPOSITORY + "/resolutions", policy=ISSUES, include_in_schema=False, status_code=200)
async def resolve_conflicts(
    request: RepositoryRequest, repository_id: int, data: ResolveConflicts
) -> UpdatedBranch:
    """Merge a base branch into a branch, with the texts of the files in conflict, as the caller."""
    repository, base = await _enter(request, repository_id, data.head_branch, data.base_repository_id)
    updates = await ref_updates_in(request, repository)
    signer = request.part(ServerKeys).signer
    with _merging():
        return await merges.resolve_conflicts(
            request.storage, request.part(Pushes), updates, signer, base.row, data
        )


async def _enter(
    request: RepositoryRequest, repository_id: int, branch: str, base_id: int
) -> tuple[ResolvedRepository, ResolvedRepository]:
    """Return the repositories of head and base. The caller may move the branch of the head.

    Raises NotFound, Unauthenticated, Denied.
    """
    repository = await resolve_for_update(request, repository_id, branch)
    require_on_disk(request, repository)
    base = repository
    if base_id != repository_id:
        base = await enter(request, base_id, unattended=False)
    request.acquire_slot()
    return repository, base


@contextmanager
def _merging() -> Iterator[None]:
    """Raise Unavailable if git fails inside the block."""
    try:
        with missing_repository_is_not_found():
            yield
    except (GitTimedOut, GitFailed) as error:
        raise Unavailable("the merge could not be made") from error


routes = [find_conflicts, resolve_conflicts]
