"""Routes that create repositories."""

from typing import Any, Literal

import msgspec
from litestar import post

from ingot_chassis.http.policy import admin, signed_in
from ingot_contracts.limits import Description, Name
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.policies import (
    into_organization,
    own_account,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.rules.extra_settings import TrustModel
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.repositories.rules import templates
from ingot_repos.repositories.rules.creation import InitialFields, NewRepository, RepositoryCreator


class CreateRepoOption(InitialFields, kw_only=True):
    """A request to create a repository. With `auto_init`, the repository starts with a commit.

    `gitignores` are names separated by commas, `license` is a key. `issue_labels` is the name of a set of
    labels. `object_format_name` must be `sha1`. `trust_model` defines whose signatures count as verified.
    """

    name: Name
    auto_init: bool = False
    gitignores: Description = ""
    license: Name = ""
    readme: Name = ""
    issue_labels: Name = ""
    default_branch: Name = ""
    object_format_name: Literal["sha1"] = "sha1"
    trust_model: TrustModel = "default"


async def create_for(request: RepositoryRequest, owner: AccountRow, data: CreateRepoOption) -> Repository:
    """Create a repository of ``owner`` as the caller. Raises Denied for a restricted token."""
    files = templates.first_files(
        templates.readme(data.readme, data.name, data.description),
        templates.gitignore(data.gitignores),
        templates.licence(data.license, owner.full_name or owner.login),
    )
    new = NewRepository(
        name=data.name,
        fields=msgspec.convert(data, InitialFields, from_attributes=True),
        trust_model=data.trust_model,
        default_branch=data.default_branch or request.settings.default_branch,
        files=files if data.auto_init else {},
        labels=templates.labels(data.issue_labels),
    )
    return await create_new(request, owner, new)


def creator_for(request: RepositoryRequest) -> RepositoryCreator:
    """Return a creator of repositories on this shard."""
    return RepositoryCreator(
        request.db,
        request.storage,
        request.part(Presenter),
        request.part(HttpIdentity),
        request.settings.shard,
        request.part(ServerKeys).signer,
    )


async def create_new(request: RepositoryRequest, owner: AccountRow, new: NewRepository) -> Repository:
    """Create a repository from a validated request."""
    access.require_unrestricted(request.principal)
    creator = await own_account(request)
    if new.copy is None:
        await require_accepting(request, owner.id)
    mode = access.mode_of_creator(owner, request.principal)
    new = msgspec.structs.replace(new, mode_of_creator=mode)
    row = await creator_for(request).create(owner, creator, new, most=request.max_repositories)
    return request.presenter.repository(row, "admin" if mode else "owner")


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

    Allowed for owners, members of teams with `can_create_org_repo`, and site administrators.
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


routes = [create_own, create_in_organization, create_for_user]
