"""Policies of routes about an import."""

from typing import cast

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_repos.access.api.policies import (
    require_present_name,
    resolve,
    resolve_by_id,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.remotes import store as import_rows


def imported_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the import of ``{owner}/{repo}``. Without an import the route answers 404.

    ``request.resource`` is the repository.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, path = cast("RepositoryRequest", connection), connection.path_params
        resolved = await resolve(request, path["owner"], path["repo"], level, unit=None)
        require_present_name(request, resolved)
        return await _require_import(request, resolved)

    return resource(level, scope, decide)


def imported_repository_by_id(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the import of ``{repository_id}``. Without an import the route answers 404.

    ``request.resource`` is the repository.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        resolved = await resolve_by_id(request, connection.path_params["repository_id"], level, unit=None)
        return await _require_import(request, resolved)

    return resource(level, scope, decide)


async def _require_import(request: RepositoryRequest, resolved: ResolvedRepository) -> ResolvedRepository:
    """Return the repository. Raises NotFound if it was not imported."""
    async with request.db.read() as db:
        if await import_rows.get(db, resolved.id) is None:
            raise NotFound
    return resolved
