"""Repositories: making, reading, changing, deleting."""

from typing import Annotated, Any, cast

import msgspec
from litestar import delete, get, patch, post
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.errors import Invalid
from ingot_chassis.policy import admin, resource, signed_in
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call, Found
from ingot_repos.core import access, migrations, mirrors, names, repositories, templates
from ingot_repos.core.intervals import read_interval
from ingot_repos.core.repositories import NewRepository
from ingot_repos.git.errors import RefNotFound
from ingot_repos.git.refs import get_branch, set_default_branch
from ingot_repos.store import remotes

UNITS = {
    "has_issues": "issues_enabled",
    "has_pull_requests": "pulls_enabled",
    "has_releases": "releases_enabled",
}
Text255 = Annotated[str, msgspec.Meta(max_length=255)]
Secret = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]


class CreateRepository(msgspec.Struct, kw_only=True):
    """With `auto_init` it begins with a commit; `gitignores` are names by comma, `license` is a key."""

    name: str
    description: Text255 = ""
    website: Text255 = ""
    private: bool = False
    auto_init: bool = False
    gitignores: str = ""
    license: str = ""
    readme: str = ""
    default_branch: str = ""


class EditRepository(msgspec.Struct, kw_only=True):
    """What is absent stays as it is. Units that Ingot has not are ignored."""

    name: str | None = None
    description: Text255 | None = None
    website: Text255 | None = None
    private: bool | None = None
    default_branch: str | None = None
    archived: bool | None = None
    has_issues: bool | None = None
    has_pull_requests: bool | None = None
    has_releases: bool | None = None
    mirror_interval: str | None = None
    mirror_username: Secret | None = None
    mirror_password: Secret | None = None
    mirror_token: Secret | None = None

    def columns(self) -> dict[str, Any]:
        """The changes, as the use case takes them."""
        given = {key: value for key, value in msgspec.structs.asdict(self).items() if value is not None}
        return {UNITS.get(key, key): value for key, value in given.items() if not key.startswith("mirror_")}


async def enter_own_organization(
    connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler
) -> None:
    """The guard of what only owners of the organization in the path may do: before the body is read."""
    organization = await cast("Call", connection).owned_organization(connection.path_params["org"])
    connection.scope["organization"] = organization  # type: ignore[typeddict-unknown-key]


async def create_for(request: Call, owner: Any, data: CreateRepository) -> Repository:
    """Create a repository of ``owner`` as the caller. Raises Denied for a restricted token."""
    access.require_unconfined(request.who)
    creator = await request.own_account()
    files = first_files(data, owner.full_name or owner.login)
    wanted = NewRepository(
        name=data.name,
        description=data.description,
        website=data.website,
        private=data.private,
        default_branch=data.default_branch or request.parts.default_branch,
        files=files if data.auto_init else {},
    )
    row = await request.parts.creating.create(owner, creator, wanted, most=request.most_repositories)
    return request.viewing.repository(row, "owner")


def first_files(data: CreateRepository, holder: str) -> dict[str, str]:
    """What the first commit holds, by path. Raises Invalid for an unknown template."""
    files = {
        "README.md": templates.readme(data.readme, data.name, data.description),
        ".gitignore": templates.gitignore(data.gitignores),
        "LICENSE": templates.licence(data.license, holder) if data.license.strip() else "",
    }
    return {path: text for path, text in files.items() if text}


def _create_in_organization_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Ids are unique in a description: the plural spelling has its own."""
    return "createOrgRepo" if "org" in path else "orgCreateRepo"


@post(
    "/api/v1/user/repos",
    policy=signed_in("write:repository"),
    operation_id="createCurrentUserRepo",
    tags=["repository"],
    status_code=201,
)
async def create_own(request: Call, data: CreateRepository) -> Repository:
    """Create a repository of the caller."""
    return await create_for(request, await request.own_account(), data)


@post(
    ["/api/v1/org/{org:str}/repos", "/api/v1/orgs/{org:str}/repos"],
    policy=signed_in("write:repository"),
    operation_id=_create_in_organization_id,
    tags=["organization"],
    status_code=201,
    guards=[enter_own_organization],
)
async def create_in_organization(request: Call, data: CreateRepository) -> Repository:
    """Create a repository of an organization that the caller owns."""
    return await create_for(request, request.scope["organization"], data)  # type: ignore[typeddict-item]


@post(
    "/api/v1/admin/users/{username:str}/repos",
    policy=admin(),
    operation_id="adminCreateRepo",
    tags=["admin"],
    status_code=201,
)
async def create_for_user(request: Call, username: str, data: CreateRepository) -> Repository:
    """Create a repository of a user or organization."""
    return await create_for(request, await request.account(username), data)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=resource("read", "read:repository"),
    operation_id="repoGet",
    tags=["repository"],
)
async def get_repository(request: Call) -> Repository:
    """A repository."""
    return await request.view(request.found)


@get(
    "/api/v1/repositories/{repository_id:int}",
    policy=signed_in("read:repository"),
    operation_id="repoGetByID",
    tags=["repository"],
)
async def get_by_id(request: Call, repository_id: int) -> Repository:
    """A repository by id."""
    return await request.view(await request.repository_by_id(repository_id))


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=resource("admin", "write:repository"),
    operation_id="repoEdit",
    tags=["repository"],
)
async def edit_repository(request: Call, data: EditRepository) -> Repository:
    """Change a repository; what is absent stays."""
    found = request.found
    branch = data.default_branch
    if branch is not None:
        await _check_default_branch(request, found, branch)
    sender = await request.sender()
    interval = None
    if data.mirror_interval is not None:
        interval = read_interval(data.mirror_interval, least=request.settings.mirror_least_seconds)
    password = data.mirror_token or data.mirror_password
    async with request.db.transaction() as tx:
        row = await repositories.edit(tx, request.viewing, found.row, sender, data.columns())
        if interval is not None:
            await mirrors.set_interval(tx, request.parts.jobs, row, interval)
        if data.mirror_username is not None or password is not None:
            remote = await remotes.get(tx, row.id)
            held = remote.sealed if remote is not None else None
            sealed = migrations.resealed(request.parts.seal, held, data.mirror_username, password)
            await mirrors.set_secrets(tx, row, sealed)
    if branch is not None:  # also when it is the same: a process may have died here
        await request.storage.call(found.id, set_default_branch, branch)
    return await request.view(Found(row, found.level))


async def _check_default_branch(request: Call, found: Found, branch: str) -> None:
    """The default branch exists; while there is none, it may be any."""
    names.check_branch(branch)
    request.require_on_disk(found)
    if not found.row.empty:
        try:
            await request.storage.call(found.id, get_branch, branch)
        except RefNotFound:
            raise Invalid.field("default_branch", "missing", f"there is no branch {branch!r}") from None


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=resource("admin", "write:repository"),
    operation_id="repoDelete",
    tags=["repository"],
)
async def delete_repository(request: Call, owner: str, repo: str) -> None:
    """Delete a repository. Those of organizations can be deleted by their owners alone."""
    found = request.found
    if found.row.owner_kind == "organization":
        found = await request.repository(owner, repo, "owner")
    sender = await request.sender()
    async with request.db.transaction() as tx:
        await repositories.delete(tx, request.parts.jobs, request.viewing, found.row, sender)
    request.parts.workers.wake.set()


routes = [
    create_own,
    create_in_organization,
    create_for_user,
    get_repository,
    get_by_id,
    edit_repository,
    delete_repository,
]
