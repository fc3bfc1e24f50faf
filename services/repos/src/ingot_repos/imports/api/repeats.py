"""Routes that repeat an import and list its conflicts."""

import msgspec
from litestar import Response, get, post

from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.repos.imports import ConflictKind
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.imports import store as sources
from ingot_repos.imports.api.answers import Migration, present_migration
from ingot_repos.imports.api.people import accounts_of, audited_people
from ingot_repos.imports.api.policies import imported_repository_by_id
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.imports.rules.lifecycle import NewRepeat
from ingot_repos.imports.rules.people import People, PeopleCsv
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.remotes.rules.credentials import seal_credentials


class RepeatMigration(msgspec.Struct, kw_only=True):
    """Credentials for the remote, and the mapping of its people. The fields are as for a new import."""

    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""
    map_logins: bool = False
    people: People = {}
    people_csv: PeopleCsv = ""


class MigrationConflict(msgspec.Struct):
    """An object that changed here and at the source since the last run. The local object stays unchanged.

    `number` is the number of its issue or pull request, or 0. `name` is the name of a label, milestone,
    release, branch or tag. For a comment or review it is the id at the source. `fields` lists the fields that
    changed on both sides. Three values are special. `deleted`: the object was deleted here. `gone`: a
    release was deleted at the source. `number`: another object has its number here.
    """

    kind: ConflictKind
    number: int
    name: str
    fields: list[str]


@post(
    "/api/v1/repos/migrate/{repository_id:int}/again",
    policy=imported_repository_by_id("admin", "write:repository"),
    operation_id="repoRepeatMigration",
    tags=["repository"],
    status_code=202,
)
async def repeat_migration(request: RepositoryRequest, data: RepeatMigration) -> Migration:
    """Repeat an import that is done, to fetch changes at the source.

    Objects that changed only here stay. Objects that changed on both sides stay, and are listed as conflicts.
    Credentials are needed again, because they are erased when an import ends. Answers 409 if the import is
    not done, and for mirrors, archived repositories and imports of an uploaded archive.
    """
    request.acquire_slot()
    new = NewRepeat(
        user_id=request.principal.id,
        sealed=seal_credentials(
            request.part(Seal), data.auth_username, data.auth_token or data.auth_password
        ),
        maps_people=request.principal.admin,
        map_logins=data.map_logins,
        people=await accounts_of(request, data.people, data.people_csv, map_logins=data.map_logins),
    )
    async with request.db.transaction() as tx:
        row = await current_row(tx, request.resource.id)
        await imports.repeat(tx, request.part(Jobs), row, new)
        await request.audit(
            tx,
            "repository.repeat_import",
            request.resource.audit_subject,
            id=request.resource.id,
            map_logins=new.map_logins,
            **audited_people(new.people),
        )
    return await present_migration(request)


@get(
    "/api/v1/repos/migrate/{repository_id:int}/conflicts",
    policy=imported_repository_by_id("admin", "read:repository"),
    operation_id="repoListMigrationConflicts",
    tags=["repository"],
)
async def list_conflicts(request: RepositoryRequest) -> Response[list[MigrationConflict]]:
    """List the conflicts of the last repeat of an import: objects that it did not change."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await sources.list_conflicts(db, request.resource.id, page)
    conflicts = [
        MigrationConflict(row.kind, row.number, row.name, msgspec.json.decode(row.fields, type=list[str]))
        for row in rows
    ]
    return Response(conflicts, headers=request.page_headers(page, total))


routes = [repeat_migration, list_conflicts]
