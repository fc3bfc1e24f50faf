"""Repositories: creating, reading, changing, deleting."""

from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from litestar import delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import admin, signed_in
from ingot_contracts.limits import Description, Name
from ingot_contracts.pulls import MergeStyle
from ingot_contracts.repos import Repository
from ingot_contracts.trackers import ExternalTracker, ExternalWiki, InternalTracker
from ingot_repos.api.policies import (
    in_repository,
    into_organization,
    own_account,
    repository_by_id,
    require_on_disk,
    sender_of,
)
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shards import require_accepting
from ingot_repos.api.transfer_views import transfer_view
from ingot_repos.core import access, imports, inert_settings, mirrors, names, repositories, templates
from ingot_repos.core.intervals import read_interval
from ingot_repos.core.presenter import RepositoryAnswer
from ingot_repos.core.repositories import NewRepository, RepositoryCreator
from ingot_repos.git.errors import RefNotFound
from ingot_repos.git.licenses import licenses_column
from ingot_repos.git.refs import get_branch, set_default_branch
from ingot_repos.store import imports as import_rows
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.related import RelatedRows, get_related
from ingot_repos.store.repositories import RepositoryRow

UNITS = {
    "has_issues": "issues_enabled",
    "has_pull_requests": "pulls_enabled",
    "has_releases": "releases_enabled",
}
ShownRepository = TypeVar("ShownRepository", bound=Repository)
Secret = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]


ALWAYS_ON = {
    "has_code": "code cannot be switched off",
    "enable_prune": "a mirror always loses what its remote has lost",
}
"""Settings that can only be true, with the reason."""


class CreateRepository(msgspec.Struct, kw_only=True):
    """With `auto_init` it begins with a commit. `gitignores` are names by comma, `license` is a key.

    `issue_labels` is the name of a set of labels. `object_format_name` can only be `sha1`, and `trust_model` only `default`.
    """

    name: Name
    description: Name = ""
    website: Name = ""
    private: bool = False
    auto_init: bool = False
    gitignores: Description = ""
    license: Name = ""
    readme: Name = ""
    issue_labels: Name = ""
    default_branch: Name = ""
    template: bool = False
    object_format_name: Literal["sha1"] = "sha1"
    trust_model: Literal["default"] = "default"


class EditRepository(msgspec.Struct, kw_only=True):
    """What is absent stays as it is. Settings of what Ingot has not, such as a wiki, are kept without effect."""

    name: Name | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    website: Name | UnsetType = UNSET
    private: bool | UnsetType = UNSET
    default_branch: Name | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    has_issues: bool | UnsetType = UNSET
    has_pull_requests: bool | UnsetType = UNSET
    has_releases: bool | UnsetType = UNSET
    template: bool | UnsetType = UNSET
    allow_merge_commits: bool | UnsetType = UNSET
    allow_rebase: bool | UnsetType = UNSET
    allow_rebase_explicit: bool | UnsetType = UNSET
    allow_squash_merge: bool | UnsetType = UNSET
    allow_fast_forward_only_merge: bool | UnsetType = UNSET
    allow_merge_update: bool | UnsetType = UNSET
    allow_rebase_update: bool | UnsetType = UNSET
    default_merge_style: MergeStyle | UnsetType = UNSET
    default_delete_branch_after_merge: bool | UnsetType = UNSET
    has_code: bool | UnsetType = UNSET
    enable_prune: bool | UnsetType = UNSET
    has_wiki: bool | UnsetType = UNSET
    has_projects: bool | UnsetType = UNSET
    has_packages: bool | UnsetType = UNSET
    has_actions: bool | UnsetType = UNSET
    projects_mode: Literal["", "repo", "owner", "all"] | UnsetType = UNSET
    allow_manual_merge: bool | UnsetType = UNSET
    autodetect_manual_merge: bool | UnsetType = UNSET
    default_allow_maintainer_edit: bool | UnsetType = UNSET
    default_update_style: Literal["merge", "rebase"] | UnsetType = UNSET
    ignore_whitespace_conflicts: bool | UnsetType = UNSET
    internal_tracker: InternalTracker | UnsetType = UNSET
    external_tracker: ExternalTracker | UnsetType = UNSET
    external_wiki: ExternalWiki | UnsetType = UNSET
    mirror_interval: Name | UnsetType = UNSET
    mirror_username: Secret | UnsetType = UNSET
    mirror_password: Secret | UnsetType = UNSET
    mirror_token: Secret | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """The changes of the repository itself, by column."""
        return {
            UNITS.get(name, name): value
            for name, value in set_fields(self).items()
            if name not in inert_settings.NAMES and name not in ALWAYS_ON and not name.startswith("mirror_")
        }

    def inert(self) -> dict[str, Any]:
        """The settings that are kept without effect."""
        return {
            name: msgspec.to_builtins(value)
            for name, value in set_fields(self).items()
            if name in inert_settings.NAMES
        }

    @property
    def username(self) -> str | None:
        """The user name for the remote of a mirror, if the body has one."""
        return None if self.mirror_username is UNSET else self.mirror_username

    @property
    def password(self) -> str | None:
        """The password for it; a token takes its place."""
        token = "" if self.mirror_token is UNSET else self.mirror_token
        return token or (None if self.mirror_password is UNSET else self.mirror_password)


async def present(request: RepositoryRequest, repository: ResolvedRepository) -> RepositoryAnswer:
    """One repository as the caller sees it."""
    related = await _related(request, repository.row)
    shown = request.presenter.related_repository(repository.row, repository.level, related, request.principal)
    return await _with_transfer(request, repository, shown)


async def present_to_peer(request: RepositoryRequest, repository: ResolvedRepository) -> Repository:
    """The same as peers know repositories."""
    related = await _related(request, repository.row)
    shown = request.presenter.repository_for_peer(
        repository.row, repository.level, related, request.principal
    )
    return await _with_transfer(request, repository, shown)


async def _with_transfer(
    request: RepositoryRequest, repository: ResolvedRepository, shown: ShownRepository
) -> ShownRepository:
    """Statements only for a repository whose transfer waits."""
    if repository.row.recipient_id is None:
        return shown
    transfer = await transfer_view(request, repository, repository.row.recipient_id)
    return msgspec.structs.replace(shown, repo_transfer=transfer)


async def _related(request: RepositoryRequest, row: RepositoryRow) -> RelatedRows:
    """One statement for a fork and for a mirror, else none."""
    if row.fork_of is None and not row.mirror:
        return RelatedRows({}, {})
    async with request.db.read() as db:
        return await get_related(db, access.viewer(request.principal), [row])


async def create_for(
    request: RepositoryRequest, owner: AccountRow, data: CreateRepository
) -> RepositoryAnswer:
    """Create a repository of ``owner`` as the caller. Raises Denied for a restricted token."""
    files = first_files(data, owner.full_name or owner.login)
    new = NewRepository(
        name=data.name,
        description=data.description,
        website=data.website,
        private=data.private,
        template=data.template,
        default_branch=data.default_branch or request.settings.default_branch,
        files=files if data.auto_init else {},
        labels=templates.labels(data.issue_labels),
    )
    return await create_new(request, owner, new)


async def create_new(request: RepositoryRequest, owner: AccountRow, new: NewRepository) -> RepositoryAnswer:
    """The same from a request that is checked already."""
    access.require_unrestricted(request.principal)
    creator = await own_account(request)
    if new.copy is None:
        await require_accepting(request, owner.id)
    components = request.components
    repository_creator = RepositoryCreator(
        request.db, components.storage, components.presenter, components.identity, request.settings.shard
    )
    mode = access.mode_of_creator(owner, request.principal)
    new = msgspec.structs.replace(new, mode_of_creator=mode)
    row = await repository_creator.create(owner, creator, new, most=request.max_repositories)
    return request.presenter.answer(row, "admin" if mode else "owner")


def first_files(data: CreateRepository, holder: str) -> dict[str, str]:
    """The files of the first commit, by path. Raises Invalid for an unknown template."""
    files = {
        "README.md": templates.readme(data.readme, data.name, data.description),
        ".gitignore": templates.gitignore(data.gitignores),
        "LICENSE": templates.licence(data.license, holder) if data.license.strip() else "",
    }
    return {path: text for path, text in files.items() if text}


def _create_in_organization_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Ids are unique in an API description, so each spelling of the path has its own."""
    return "createOrgRepo" if "org" in path else "orgCreateRepo"


@post(
    "/api/v1/user/repos",
    policy=signed_in("write:repository"),
    operation_id="createCurrentUserRepo",
    tags=["repository"],
    status_code=201,
)
async def create_own(request: RepositoryRequest, data: CreateRepository) -> RepositoryAnswer:
    """Create a repository of the caller."""
    return await create_for(request, await own_account(request), data)


@post(
    ["/api/v1/org/{org:str}/repos", "/api/v1/orgs/{org:str}/repos"],
    policy=into_organization("write:repository"),
    operation_id=_create_in_organization_id,
    tags=["organization"],
    status_code=201,
)
async def create_in_organization(request: RepositoryRequest, data: CreateRepository) -> RepositoryAnswer:
    """Create a repository of an organization: its owners, and members of teams with `can_create_org_repo`."""
    return await create_for(request, request.account, data)


@post(
    "/api/v1/admin/users/{username:str}/repos",
    policy=admin(),
    operation_id="adminCreateRepo",
    tags=["admin"],
    status_code=201,
)
async def create_for_user(
    request: RepositoryRequest, username: str, data: CreateRepository
) -> RepositoryAnswer:
    """Create a repository of a user or organization."""
    return await create_for(request, await request.components.accounts.get_by_login(username), data)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("read", "read:repository"),
    operation_id="repoGet",
    tags=["repository"],
)
async def get_repository(request: RepositoryRequest) -> RepositoryAnswer:
    """A repository."""
    return await present(request, request.resource)


@get(
    "/api/v1/repositories/{repository_id:int}",
    policy=repository_by_id("read:repository"),
    operation_id="repoGetByID",
    tags=["repository"],
)
async def get_by_id(request: RepositoryRequest) -> RepositoryAnswer:
    """A repository by id."""
    return await present(request, request.resource)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoEdit",
    tags=["repository"],
)
async def edit_repository(request: RepositoryRequest, data: EditRepository) -> RepositoryAnswer:
    """Change a repository; what is absent stays."""
    repository = request.resource
    for name, reason in ALWAYS_ON.items():
        if getattr(data, name) is False:
            raise Invalid.field(name, "unsupported", reason)
    branch = data.default_branch
    if branch is not UNSET:
        await _check_default_branch(request, repository, branch)
    sender = await sender_of(request)
    interval = None
    if data.mirror_interval is not UNSET:
        interval = read_interval(data.mirror_interval, least=request.settings.mirror_least_seconds)
    stays: AbstractAsyncContextManager[None] = nullcontext()
    if branch is not UNSET:  # HEAD has to be changed where the files are
        stays = request.components.pushes.uploading(repository.id, sender.id)
    columns = data.columns()
    async with stays:
        if branch is not UNSET:
            columns["licenses"] = await request.storage.call(repository.id, licenses_column, branch)
        async with request.db.transaction() as tx:
            row = await repositories.edit(
                tx, request.presenter, repository.row, sender, columns, data.inert()
            )
            await request.audit(
                tx, "repository.edit", request.resource.audit_subject, fields=sorted(set_fields(data))
            )
            if interval is not None:
                await mirrors.set_interval(tx, request.components.jobs, row, interval)
            if data.username is not None or data.password is not None:
                remote = await import_rows.get_remote(tx, row.id)
                sealed = imports.change_credentials(
                    request.components.seal, remote.sealed if remote else None, data.username, data.password
                )
                await mirrors.set_credentials(tx, row, sealed)
        if branch is not UNSET:  # also when it is the same: a process may have died here
            await request.storage.call(repository.id, set_default_branch, branch)
    return await present(request, ResolvedRepository(row, repository.level))


async def _check_default_branch(
    request: RepositoryRequest, repository: ResolvedRepository, branch: str
) -> None:
    """Raises Invalid for a branch that does not exist. In an empty repository it may be any."""
    names.check_branch(branch)
    require_on_disk(request, repository)
    if not repository.row.empty:
        try:
            await request.storage.call(repository.id, get_branch, branch)
        except RefNotFound:
            raise Invalid.field("default_branch", "missing", f"there is no branch {branch!r}") from None


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("owner", "write:repository"),
    operation_id="repoDelete",
    tags=["repository"],
)
async def delete_repository(request: RepositoryRequest) -> None:
    """Delete a repository: for its owner, owners of the organization, and site administrators."""
    row = request.resource.row
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        await repositories.delete(tx, request.components.jobs, request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    request.components.workers.wake.set()
    with suppress(ApiError):  # identity gets the event, too
        await request.components.identity.disown(row.id)


routes = [
    create_own,
    create_in_organization,
    create_for_user,
    get_repository,
    get_by_id,
    edit_repository,
    delete_repository,
]
