"""A route that imports an archive."""

from litestar import post

from ingot_chassis.errors import Denied
from ingot_chassis.http.policy import signed_in
from ingot_chassis.http.request_bodies import FileUpload
from ingot_chassis.http.uploads import uploaded_file
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.repositories import Repository
from ingot_git.storage.storage import Storage
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.archives.rules.uploads import FIELD, new_import, read_manifest, receive
from ingot_repos.catalog.rules import names
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports.api.creation import owner_of_new
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.repositories.rules.creation import record_owner


@post(
    "/api/v1/repos/migrate/archive",
    policy=signed_in("write:repository"),
    operation_id="repoImportArchive",
    tags=["repository"],
    status_code=201,
    request_max_body_size=None,
    operation_class=FileUpload,
)
async def import_archive(
    request: RepositoryRequest,
    name: str = "",
    owner: str = "",
    private: bool | None = None,
    map_logins: bool = False,
) -> Repository:
    """Import a repository from an archive.

    The archive is the field `attachment` of a form; any other body is read as the archive. It is verified
    before anything is created. `owner` is the caller by default. `name` and `private` default to the values
    in the archive. People are found as in every import. `GET …/migration` returns the progress.
    """
    access.require_unrestricted(request.principal)
    if map_logins and not request.principal.admin:
        raise Denied("only administrators map users by their logins")
    if name:
        names.check_repository(name)
    request.acquire_slot()
    account = await owner_of_new(request, owner)
    await require_accepting(request, account.id)
    storage, max_bytes = request.part(Storage), request.settings.max_remote_bytes
    file = await uploaded_file(request, FIELD)
    archive = await receive(storage, file.chunks, max_bytes=max_bytes)
    try:
        manifest = await read_manifest(storage, archive, max_bytes=max_bytes)
        new = new_import(
            manifest,
            archive,
            name=names.check_repository(name or manifest.name),
            private=manifest.private if private is None else private,
            maps_people=request.principal.admin,
            map_logins=map_logins,
        )
        async with request.db.transaction() as tx:
            added = await imports.request(
                tx,
                request.part(Jobs),
                request.part(Seal),
                account,
                request.principal.id,
                new,
                shard=request.settings.shard,
                most=request.max_repositories,
            )
            mode = access.mode_of_creator(account, request.principal)
            if mode:
                await grants.add_collaborator(tx, added.id, request.principal.id, mode)
    except BaseException:
        storage.discard_archive(archive)
        raise
    await record_owner(request.db, request.part(HttpIdentity), request.part(Jobs), request.presenter, added)
    level = AccessLevel(level="admin" if mode else "owner")
    return await present(request, ResolvedRepository(added, level))


routes = [import_archive]
