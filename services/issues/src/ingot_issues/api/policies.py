"""The policies of routes below a repository, and below an organization."""

from typing import cast

import msgspec

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Account
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.api.request import IssuesRequest
from ingot_issues.components import Components
from ingot_issues.core.access import RequiredLevel, Unit, allows, require
from ingot_issues.core.organization_labels import require as require_organization


def in_repository(level: RequiredLevel, scope: str, unit: Unit = "", *, remembers: bool = True) -> Policy:
    """For those who may use the repository in the path at ``level``, where ``unit`` is switched on.

    ``request.access`` is what they may do; unless it ``remembers``, with the repository as it is now. Raises NotFound,
    Unauthenticated, Denied, or Moved after a rename.
    """

    async def decide(connection: Connection, level: str) -> RepositoryAccess:
        return await _decide(connection, cast("RequiredLevel", level), unit, remembers=remembers)

    return resource(level, scope, decide)


def for_web(policy: Policy) -> Policy:
    """The same for calls by web alone, on a route between services."""
    return msgspec.structs.replace(policy, caller="service", services=("web",))


def in_organization(level: RequiredLevel, scope: str) -> Policy:
    """For the labels of the organization in the path: ``request.resource`` is its account.

    Raises NotFound, Unauthenticated or Denied.
    """

    async def decide(connection: Connection, level: str) -> Account:
        components: Components = connection.app.state.components
        principal: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
        organization = await components.identity.account_by_name(connection.path_params["org"])
        membership = principal.organizations.get(organization.id)
        writes = level == "write"
        try:
            require_organization(principal, organization, membership, writes=writes)
        except (NotFound, Denied):
            if not principal.signed_in:
                raise
            # The principal token may be older than the membership, so only identity can refuse for good.
            membership = await components.identity.membership(principal.id, organization.id)
            require_organization(principal, organization, membership, writes=writes)
        return organization

    return resource(level, scope, decide)


async def _decide(
    connection: Connection, level: RequiredLevel, unit: Unit, *, remembers: bool
) -> RepositoryAccess:
    """A grant that is remembered may allow. Before the answer is no, repos is asked again."""
    request = cast("IssuesRequest", connection)
    components, principal, principal_token = request.components, request.principal, request.principal_token
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    access = await components.repos.granted(owner, name, principal_token) if remembers else None
    if access is None or not allows(access, principal, level, unit):
        access = await components.repos.access(owner, name, principal_token)
    require(access, principal, level, unit)
    repository = access.repository
    if repository.full_name.lower() != f"{owner}/{name}".lower():  # renamed, or replaced by another one
        raise request.moved(owner=repository.owner.login, repo=repository.name)
    return access
