"""The policies of routes below a repository, and below an organization."""

from typing import cast

import msgspec

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_contracts.identity.accounts import Account
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.api.request import REQUIRED_LEVEL, UNIT, IssuesRequest
from ingot_issues.access.rules.organizations import require as require_organization
from ingot_issues.access.rules.repositories import RequiredLevel, Unit, allows, in_unit, require
from ingot_issues.records.store import issues as issue_rows


def in_repository(level: RequiredLevel, scope: str, unit: Unit = "", *, remembers: bool = True) -> Policy:
    """Allow callers with ``level`` access to an enabled ``unit`` of the repository in the path.

    ``request.access`` is the caller's access. With ``remembers`` a cached grant is accepted. Otherwise each
    request asks repos. Raises NotFound, Unauthenticated, Denied, or Moved if the repository was renamed or
    replaced.
    """

    async def decide(connection: Connection, level: str) -> RepositoryAccess:
        return await _decide(connection, cast("RequiredLevel", level), unit, remembers=remembers)

    return resource(level, scope, decide)


def by_issue_id(level: RequiredLevel, scope: str) -> Policy:
    """Allow the same callers as ``in_repository``, on routes with the id of an issue or pull request.

    Raises NotFound, Unauthenticated or Denied.
    """

    async def decide(connection: Connection, level: str) -> RepositoryAccess:
        request = cast("IssuesRequest", connection)
        async with request.db.read() as db:
            issue = await issue_rows.get_by_id(db, connection.path_params["issue_id"])
        if issue is None:
            raise NotFound
        token = request.principal_token
        access = await request.components.repos.access_by_id(issue.repository_id, token)
        return _entered(request, access, cast("RequiredLevel", level), "numbered")

    return resource(level, scope, decide)


def for_peer(policy: Policy, peer: str) -> Policy:
    """Restrict a policy to calls by one service, for a route between services."""
    return msgspec.structs.replace(policy, caller="service", services=(peer,))


def in_organization(level: RequiredLevel, scope: str) -> Policy:
    """Allow callers with ``level`` access to the labels of the organization in the path.

    ``request.resource`` is the account of the organization. Raises NotFound, Unauthenticated or Denied.
    """

    async def decide(connection: Connection, level: str) -> Account:
        request = cast("IssuesRequest", connection)
        return await organization_for(request, connection.path_params["org"], writes=level == "write")

    return resource(level, scope, decide)


async def organization_for(request: IssuesRequest, name: str, *, writes: bool) -> Account:
    """Return an organization whose labels the caller may read or, with ``writes``, change.

    Raises NotFound, Unauthenticated or Denied.
    """
    identity, principal = request.components.identity, request.principal
    organization = await identity.account_by_name(name)
    membership = principal.organizations.get(organization.id)
    try:
        require_organization(principal, organization, membership, writes=writes)
    except (NotFound, Denied):
        if not principal.signed_in:
            raise
        # The principal token may be older than the membership, so a denial needs a check with identity.
        membership = await identity.membership(principal.id, organization.id)
        require_organization(principal, organization, membership, writes=writes)
    return organization


async def _decide(
    connection: Connection, level: RequiredLevel, unit: Unit, *, remembers: bool
) -> RepositoryAccess:
    """Return the caller's access if it is sufficient. Raises the errors of ``in_repository``.

    A cached grant can allow access, but not deny it: repos is asked before a denial.
    """
    request = cast("IssuesRequest", connection)
    components, principal, principal_token = request.components, request.principal, request.principal_token
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    access = await components.repos.granted(owner, name, principal_token) if remembers else None
    if access is None or not allows(in_unit(access, unit), principal, level, unit):
        access = await components.repos.access(owner, name, principal_token)
    _entered(request, access, level, unit)
    repository = access.repository
    # renamed, or replaced by another repository
    if repository.full_name.lower() != f"{owner}/{name}".lower():
        raise request.moved(owner=repository.owner.login, repo=repository.name)
    return access


def _entered(
    request: IssuesRequest, access: RepositoryAccess, level: RequiredLevel, unit: Unit
) -> RepositoryAccess:
    """Record ``level`` and ``unit`` in the request, and return the access if it is sufficient.

    Raises the errors of ``require``.
    """
    scope = cast("dict[str, object]", request.scope)
    scope[UNIT], scope[REQUIRED_LEVEL] = unit, level
    require(in_unit(access, unit), request.principal, level, unit)
    return access
