"""Routes that watch, restart, cancel and undo an import."""

from contextlib import suppress

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_repos.access.api.policies import (
    sender_of,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports.api.answers import Migration, present_migration
from ingot_repos.imports.api.policies import imported_repository, imported_repository_by_id
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.remotes.rules.credentials import seal_credentials
from ingot_repos.repositories.rules import deletions


class RestartMigration(msgspec.Struct, kw_only=True):
    """New credentials for the remote. The former credentials were erased when the import ended."""

    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "read:repository"),
    operation_id="repoGetMigration",
    tags=["repository"],
)
async def get_migration(request: RepositoryRequest) -> Migration:
    """Return the progress of an import. Answers 404 if the repository was not imported."""
    return await present_migration(request)


@get(
    "/api/v1/repos/migrate/{repository_id:int}",
    policy=imported_repository_by_id("admin", "read:repository"),
    operation_id="repoGetMigrationByID",
    tags=["repository"],
)
async def get_by_id(request: RepositoryRequest) -> Migration:
    """Return the progress of an import by the id of its repository."""
    return await present_migration(request)


@delete(
    "/api/v1/repos/migrate/{repository_id:int}",
    policy=imported_repository_by_id("owner", "write:repository"),
    operation_id="repoUndoMigration",
    tags=["repository"],
)
async def undo_migration(request: RepositoryRequest) -> None:
    """Cancel an import and delete its repository with all imported data.

    Answers 409 if the import is done, or if it was done once and is being repeated.
    """
    row, sender = request.resource.row, await sender_of(request)
    async with request.db.transaction() as tx:
        await imports.give_up(tx, request.part(Jobs), row.id)
        await deletions.delete(tx, request.part(Jobs), request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    with suppress(ApiError):  # identity gets the event as well
        await request.part(HttpIdentity).disown(row.id)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "write:repository"),
    operation_id="repoRestartMigration",
    tags=["repository"],
    status_code=202,
)
async def restart_migration(request: RepositoryRequest, data: RestartMigration) -> Migration:
    """Restart a failed or cancelled import. Fetched data is kept.

    Credentials are needed again, because they are erased when an import ends. The table of people is erased
    when an import is cancelled, and cannot be restored. Answers 409 if the import is running or done.
    """
    sealed = seal_credentials(request.part(Seal), data.auth_username, data.auth_token or data.auth_password)
    async with request.db.transaction() as tx:
        await imports.restart(
            tx,
            request.part(Jobs),
            request.presenter,
            request.resource.row,
            user_id=request.principal.id,
            is_admin=request.principal.admin,
            sealed=sealed,
        )
    return await present_migration(request)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "write:repository"),
    operation_id="repoCancelMigration",
    tags=["repository"],
)
async def cancel_migration(request: RepositoryRequest) -> None:
    """Cancel an import. Answers 409 if it has ended.

    A repository that has its commits stays usable. Other repositories stay without commits until they are
    deleted or the import is restarted.
    """
    async with request.db.transaction() as tx:
        await imports.cancel(tx, request.part(Jobs), request.resource.id)


routes = [get_migration, get_by_id, undo_migration, restart_migration, cancel_migration]
