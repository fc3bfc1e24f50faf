"""Routes that create, read, change and delete repositories."""

from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Annotated, Any, Literal

import msgspec
from litestar import delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import admin, signed_in
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import WEB_URL, Description, Name
from ingot_contracts.repos.merges import MergeStyle
from ingot_contracts.repos.repositories import Repository
from ingot_contracts.repos.trackers import ExternalTracker, ExternalWiki, InternalTracker
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    in_repository,
    into_organization,
    own_account,
    repository_by_id,
    require_on_disk,
    sender_of,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.rules import extra_settings, names
from ingot_repos.catalog.rules.extra_settings import TrustModel
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.git.history.licenses import licenses_column
from ingot_repos.git.process.errors import RefNotFound
from ingot_repos.git.refs.refs import get_branch, set_default_branch
from ingot_repos.mirrors.rules import schedule
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.presentation.rules.intervals import read_interval
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.rules import credentials
from ingot_repos.repositories.rules import lifecycle as repositories
from ingot_repos.repositories.rules import templates
from ingot_repos.repositories.rules.lifecycle import NewRepository, RepositoryCreator

UNITS = {
    "has_issues": "issues_enabled",
    "has_pull_requests": "pulls_enabled",
    "has_releases": "releases_enabled",
    "has_wiki": "wiki_enabled",
}
Website = Annotated[Name, WEB_URL]


class TrackerOption(ExternalTracker, frozen=True, kw_only=True):
    """An external tracker in requests. Stored ones may be older than the check of the URL."""

    external_tracker_url: Annotated[Description, WEB_URL] = ""


class WikiOption(ExternalWiki, frozen=True, kw_only=True):
    """An external wiki in requests. Stored ones may be older than the check of the URL."""

    external_wiki_url: Annotated[Description, WEB_URL] = ""


OF_MIRRORS = ("enable_prune", "mirror_interval", "mirror_username", "mirror_password", "mirror_token")
"""Fields that other repositories ignore."""
NOT_STORED = ("has_code", *OF_MIRRORS)


class CreateRepoOption(msgspec.Struct, kw_only=True):
    """With `auto_init`, the repository starts with a commit.

    `gitignores` are names separated by commas, `license` is a key. `issue_labels` is the name of a set of
    labels. `object_format_name` must be `sha1`. `trust_model` says whose signatures count as verified.
    """

    name: Name
    description: Name = ""
    website: Website = ""
    private: bool = False
    auto_init: bool = False
    gitignores: Description = ""
    license: Name = ""
    readme: Name = ""
    issue_labels: Name = ""
    default_branch: Name = ""
    template: bool = False
    object_format_name: Literal["sha1"] = "sha1"
    trust_model: TrustModel = "default"


class EditRepository(msgspec.Struct, kw_only=True):
    """Absent fields keep their values.

    Settings of features that Ingot does not have, such as projects, are stored without effect. A
    default branch that does not exist is ignored, as is a default merge style that is off. Fields of mirrors
    are ignored elsewhere.
    """

    name: Name | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    website: Website | UnsetType = UNSET
    private: bool | UnsetType = UNSET
    default_branch: Name | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    has_issues: bool | UnsetType = UNSET
    has_pull_requests: bool | UnsetType = UNSET
    has_releases: bool | UnsetType = UNSET
    has_wiki: bool | UnsetType = UNSET
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
    trust_model: TrustModel | UnsetType = UNSET
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
    external_tracker: TrackerOption | UnsetType = UNSET
    external_wiki: WikiOption | UnsetType = UNSET
    mirror_interval: Name | UnsetType = UNSET
    mirror_username: Secret | UnsetType = UNSET
    mirror_password: Secret | UnsetType = UNSET
    mirror_token: Secret | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """Return the changed columns of the repository."""
        return {
            UNITS.get(name, name): value
            for name, value in set_fields(self).items()
            if name not in extra_settings.NAMES and name not in NOT_STORED
        }

    def extra_settings(self) -> dict[str, Any]:
        """Return the changed settings of the column ``inert_settings``."""
        return {
            name: msgspec.to_builtins(value)
            for name, value in set_fields(self).items()
            if name in extra_settings.NAMES
        }

    @property
    def username(self) -> str | None:
        """The user name for the remote of a mirror, or None if it is not set."""
        return None if self.mirror_username is UNSET else self.mirror_username

    @property
    def password(self) -> str | None:
        """The password or token for the remote of a mirror, or None if neither is set.

        A token takes precedence.
        """
        token = "" if self.mirror_token is UNSET else self.mirror_token
        return token or (None if self.mirror_password is UNSET else self.mirror_password)


async def create_for(request: RepositoryRequest, owner: AccountRow, data: CreateRepoOption) -> Repository:
    """Create a repository of ``owner`` as the caller. Raises Denied for a restricted token."""
    files = first_files(data, owner.full_name or owner.login)
    new = NewRepository(
        name=data.name,
        description=data.description,
        website=data.website,
        private=data.private,
        template=data.template,
        trust_model=data.trust_model,
        default_branch=data.default_branch or request.settings.default_branch,
        files=files if data.auto_init else {},
        labels=templates.labels(data.issue_labels),
    )
    return await create_new(request, owner, new)


async def create_new(request: RepositoryRequest, owner: AccountRow, new: NewRepository) -> Repository:
    """Create a repository from a checked request."""
    access.require_unrestricted(request.principal)
    creator = await own_account(request)
    if new.copy is None:
        await require_accepting(request, owner.id)
    repository_creator = RepositoryCreator(
        request.db,
        request.storage,
        request.part(Presenter),
        request.part(HttpIdentity),
        request.settings.shard,
    )
    mode = access.mode_of_creator(owner, request.principal)
    new = msgspec.structs.replace(new, mode_of_creator=mode)
    row = await repository_creator.create(owner, creator, new, most=request.max_repositories)
    return request.presenter.repository(row, "admin" if mode else "owner")


def first_files(data: CreateRepoOption, holder: str) -> dict[str, str]:
    """Return the files of the first commit by path. Raises Invalid for an unknown template."""
    files = {
        "README.md": templates.readme(data.readme, data.name, data.description),
        ".gitignore": templates.gitignore(data.gitignores),
        "LICENSE": templates.licence(data.license, holder) if data.license.strip() else "",
    }
    return {path: text for path, text in files.items() if text}


def _create_in_organization_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Return an operation id for each spelling of the path. Ids must be unique in an API description."""
    return "createOrgRepo" if "org" in path else "orgCreateRepo"


@post(
    "/api/v1/user/repos",
    policy=signed_in("write:repository"),
    operation_id="createCurrentUserRepo",
    tags=["repository"],
    status_code=201,
)
async def create_own(request: RepositoryRequest, data: CreateRepoOption) -> Repository:
    """Create a repository of the caller."""
    return await create_for(request, await own_account(request), data)


@post(
    ["/api/v1/org/{org:str}/repos", "/api/v1/orgs/{org:str}/repos"],
    policy=into_organization("write:repository"),
    operation_id=_create_in_organization_id,
    tags=["organization"],
    status_code=201,
)
async def create_in_organization(request: RepositoryRequest, data: CreateRepoOption) -> Repository:
    """Create a repository of an organization.

    Owners may, and members of teams with `can_create_org_repo`.
    """
    return await create_for(request, request.account, data)


@post(
    "/api/v1/admin/users/{username:str}/repos",
    policy=admin(),
    operation_id="adminCreateRepo",
    tags=["admin"],
    status_code=201,
)
async def create_for_user(request: RepositoryRequest, username: str, data: CreateRepoOption) -> Repository:
    """Create a repository of a user or organization."""
    return await create_for(request, await request.part(AccountCopies).get_by_login(username), data)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoGet",
    tags=["repository"],
)
async def get_repository(request: RepositoryRequest) -> Repository:
    """Return a repository."""
    return await present(request, request.resource)


@get(
    "/api/v1/repositories/{repository_id:int}",
    policy=repository_by_id("read:repository"),
    operation_id="repoGetByID",
    tags=["repository"],
)
async def get_by_id(request: RepositoryRequest) -> Repository:
    """Return a repository by id."""
    return await present(request, request.resource)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoEdit",
    tags=["repository"],
)
async def edit_repository(request: RepositoryRequest, data: EditRepository) -> Repository:
    """Change a repository. Absent fields keep their values."""
    repository = request.resource
    data = await _applicable(request, repository, data)
    branch = data.default_branch
    sender = await sender_of(request)
    interval = None
    if data.mirror_interval is not UNSET:
        interval = read_interval(data.mirror_interval, least=request.settings.mirror_least_seconds)
    stays: AbstractAsyncContextManager[None] = nullcontext()
    if branch is not UNSET:  # HEAD must be changed where the files are
        stays = request.part(Pushes).uploading(repository.id, sender.id)
    columns = data.columns()
    async with stays:
        if branch is not UNSET:
            columns["licenses"] = await request.storage.call(repository.id, licenses_column, branch)
        async with request.db.transaction() as tx:
            row = await repositories.edit(
                tx, request.presenter, repository.row, sender, columns, data.extra_settings()
            )
            await request.audit(
                tx, "repository.edit", request.resource.audit_subject, fields=sorted(set_fields(data))
            )
            if interval is not None:
                await schedule.set_interval(tx, request.part(Jobs), row, interval)
            if data.username is not None or data.password is not None:
                remote = await import_rows.get_remote(tx, row.id)
                sealed = credentials.change_credentials(
                    request.part(Seal), remote.sealed if remote else None, data.username, data.password
                )
                await schedule.set_credentials(tx, row, sealed)
        if branch is not UNSET:  # also when it is the same: a process may have died here
            await request.storage.call(repository.id, set_default_branch, branch)
    return await present(request, ResolvedRepository(row, repository.access))


async def _applicable(
    request: RepositoryRequest, repository: ResolvedRepository, data: EditRepository
) -> EditRepository:
    """Return the request without the fields that cannot apply to the repository.

    Raises Invalid for a field whose effect would be another one than the client asks for.
    """
    if data.has_code is False:
        raise Invalid.field("has_code", "unsupported", "code cannot be switched off")
    dropped: tuple[str, ...] = () if repository.row.mirror else OF_MIRRORS
    if repository.row.mirror and data.enable_prune is False:
        text = "a mirror always deletes branches and tags that its remote has deleted"
        raise Invalid.field("enable_prune", "unsupported", text)
    branch = data.default_branch
    if branch is not UNSET and not await _can_be_default(request, repository, branch):
        dropped = (*dropped, "default_branch")
    return msgspec.structs.replace(data, **dict.fromkeys(dropped, UNSET))


async def _can_be_default(request: RepositoryRequest, repository: ResolvedRepository, branch: str) -> bool:
    """Return whether the branch exists. An empty repository accepts any name. Raises Invalid."""
    if not branch:
        return False
    names.check_branch(branch)
    require_on_disk(request, repository)
    if repository.row.empty:
        return True
    try:
        await request.storage.call(repository.id, get_branch, branch)
    except RefNotFound:
        return False
    return True


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("owner", "write:repository", unit=None),
    operation_id="repoDelete",
    tags=["repository"],
)
async def delete_repository(request: RepositoryRequest) -> None:
    """Delete a repository.

    Its owner, owners of the organization and site administrators may.
    """
    row = request.resource.row
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        await repositories.delete(tx, request.part(Jobs), request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    with suppress(ApiError):  # identity gets the event as well
        await request.part(HttpIdentity).disown(row.id)


routes = [
    create_own,
    create_in_organization,
    create_for_user,
    get_repository,
    get_by_id,
    edit_repository,
    delete_repository,
]
