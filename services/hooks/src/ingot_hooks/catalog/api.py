"""Policies of routes for hooks of a repository, an organization, the caller's account or the server.

They are decided before the body is read. Each sets ``request.resource``.
"""

from typing import cast

from ingot_chassis.errors import NotFound, Unauthenticated
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import PRINCIPAL_HEADER, Principal
from ingot_contracts.identity.accounts import Account
from ingot_contracts.repos.access import Level
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.catalog.request import HooksRequest
from ingot_hooks.catalog.rules import access
from ingot_hooks.catalog.rules.access import Role
from ingot_hooks.catalog.store.queries import SERVER_HOOKS, Owner
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos

OWN_ACCOUNT = "/api/v1/user"
SERVER = "/api/v1/admin"
REPOSITORY = "/api/v1/repos/{owner:str}/{repo:str}"
ORGANIZATION = "/api/v1/orgs/{org:str}"
ORGANIZATION_ALIAS = "/api/v1/org/{org:str}"
"""The path at which official clients delete a hook of an organization."""


def in_repository(level: Level, scope: str) -> Policy:
    """Policy for users with ``level`` on the repository ``{owner}/{repo}`` in the path."""
    return resource(level, scope, _decide_repository)


def in_organization(role: Role, scope: str) -> Policy:
    """Policy for users with ``role`` in the organization ``{org}``, and for site administrators."""
    return resource(role, scope, _decide_organization)


def in_own_account(scope: str) -> Policy:
    """Policy for signed-in users, for the hooks of all their own repositories."""
    return resource("own", scope, _decide_own_account)


def of_server(scope: str) -> Policy:
    """Policy for site administrators."""
    return resource("administrator", scope, _decide_server)


async def _decide_own_account(connection: Connection, _level: str) -> Owner:
    """Return the caller's own account as owner. Raises Unauthenticated or Denied."""
    principal = _principal(connection)
    access.require_own_account(principal)
    return Owner(organization_id=principal.id)


async def _decide_server(connection: Connection, _level: str) -> Owner:
    """Return the server as owner. Raises Denied."""
    access.require_administrator(_principal(connection))
    return SERVER_HOOKS


async def _decide_repository(connection: Connection, level: str) -> Repository:
    """Return the repository. Raises NotFound, Unauthenticated, Denied, or Moved for a former name."""
    principal = _principal(connection)
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    token = connection.headers.get(PRINCIPAL_HEADER, "")
    granted = await _parts(connection)[HttpRepos].access(owner, name, token)
    access.require_level(principal, granted, cast("Level", level))
    repository = granted.repository
    if repository.full_name.lower() != f"{owner}/{name}".lower():  # it has another name or another owner now
        request = cast("HooksRequest", connection)
        raise request.moved(owner=repository.owner.login, repo=repository.name)
    return repository


async def _decide_organization(connection: Connection, level: str) -> Account:
    """Return the organization. Raises NotFound, Unauthenticated or Denied."""
    identity, principal = _parts(connection)[HttpIdentity], _principal(connection)
    role = cast("Role", level)
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    account = await identity.account_by_name(connection.path_params["org"])
    if account.kind != "organization":
        raise NotFound
    if not access.has_role(principal, principal.organizations.get(account.id), role):
        # The principal token may be older than the membership, so only identity can refuse for good.
        memberships = await identity.memberships(principal.id)
        access.require_role(principal, account, memberships.get(account.id), role)
    return account


def _parts(connection: Connection) -> Parts:
    return connection.app.state[PARTS]  # type: ignore[no-any-return]


def _principal(connection: Connection) -> Principal:
    return connection.scope["principal"]  # type: ignore[typeddict-item,no-any-return]
