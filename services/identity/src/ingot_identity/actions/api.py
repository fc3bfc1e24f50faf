"""Routes for variables of Actions, for external CI systems.

The variables belong to the caller or an organization.
"""

from litestar import MediaType, Response, delete, get, post, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.action_variables import (
    ActionVariable,
    CreateActionVariable,
    EditActionVariable,
    variable_name,
)
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization
from ingot_identity.access.rules import Level
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.actions import rules as action_variables
from ingot_identity.actions import store
from ingot_identity.actions.store import ActionVariableRow

OWN = "/api/v1/user/actions/variables"
OF_ORGANIZATION = "/api/v1/orgs/{org:str}/actions/variables"


def present(row: ActionVariableRow) -> ActionVariable:
    return ActionVariable(
        owner_id=row.account_id, repo_id=0, name=row.name, data=row.value, description=row.description
    )


@get(OWN, policy=signed_in("read:user"), operation_id="getUserVariablesList", tags=["user"])
async def list_own_variables(request: IdentityRequest) -> Response[list[ActionVariable]]:
    """List the variables of the caller."""
    return await _list(request, request.principal.id)


@get(OWN + "/{name:str}", policy=signed_in("read:user"), operation_id="getUserVariable", tags=["user"])
async def get_own_variable(request: IdentityRequest, name: str) -> ActionVariable:
    """Return a variable of the caller."""
    return await _get(request, request.principal.id, name)


@post(
    OWN + "/{name:str}",
    policy=signed_in("write:user"),
    operation_id="createUserVariable",
    tags=["user"],
    status_code=201,
    media_type=MediaType.TEXT,
)
async def create_own_variable(request: IdentityRequest, name: str, data: CreateActionVariable) -> None:
    """Add a variable to the caller. The status is 409 if the name is taken."""
    async with request.db.transaction() as tx:
        await action_variables.create(tx, request.principal.id, name, data)


@put(
    OWN + "/{name:str}",
    policy=signed_in("write:user"),
    operation_id="updateUserVariable",
    tags=["user"],
    status_code=204,
)
async def edit_own_variable(request: IdentityRequest, name: str, data: EditActionVariable) -> None:
    """Change a variable of the caller."""
    async with request.db.transaction() as tx:
        await action_variables.edit(tx, request.principal.id, name, data)


@delete(OWN + "/{name:str}", policy=signed_in("write:user"), operation_id="deleteUserVariable", tags=["user"])
async def delete_own_variable(request: IdentityRequest, name: str) -> None:
    """Delete a variable of the caller."""
    async with request.db.transaction() as tx:
        if not await store.remove(tx, request.principal.id, variable_name(name)):
            raise NotFound


@get(
    OF_ORGANIZATION,
    policy=in_organization(Level.OWNER, "read:organization"),
    operation_id="getOrgVariablesList",
    tags=["organization"],
)
async def list_variables(request: IdentityRequest) -> Response[list[ActionVariable]]:
    """List the variables of an organization."""
    return await _list(request, request.organization.id)


@get(
    OF_ORGANIZATION + "/{name:str}",
    policy=in_organization(Level.OWNER, "read:organization"),
    operation_id="getOrgVariable",
    tags=["organization"],
)
async def get_variable(request: IdentityRequest, name: str) -> ActionVariable:
    """Return a variable of an organization."""
    return await _get(request, request.organization.id, name)


@post(
    OF_ORGANIZATION + "/{name:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="createOrgVariable",
    tags=["organization"],
    status_code=201,
    media_type=MediaType.TEXT,
)
async def create_variable(request: IdentityRequest, name: str, data: CreateActionVariable) -> None:
    """Add a variable to an organization. The status is 409 if the name is taken."""
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, request.organization.id)
        await action_variables.create(tx, request.organization.id, name, data)


@put(
    OF_ORGANIZATION + "/{name:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="updateOrgVariable",
    tags=["organization"],
    status_code=204,
)
async def edit_variable(request: IdentityRequest, name: str, data: EditActionVariable) -> None:
    """Change a variable of an organization."""
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, request.organization.id)
        await action_variables.edit(tx, request.organization.id, name, data)


@delete(
    OF_ORGANIZATION + "/{name:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="deleteOrgVariable",
    tags=["organization"],
)
async def delete_variable(request: IdentityRequest, name: str) -> None:
    """Delete a variable of an organization."""
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, request.organization.id)
        if not await store.remove(tx, request.organization.id, variable_name(name)):
            raise NotFound


async def _list(request: IdentityRequest, account_id: int) -> Response[list[ActionVariable]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, account_id, page)
    return Response([present(row) for row in rows], headers=request.page_headers(page, total))


async def _get(request: IdentityRequest, account_id: int, name: str) -> ActionVariable:
    async with request.db.read() as db:
        row = await store.get(db, account_id, variable_name(name))
    if row is None:
        raise NotFound
    return present(row)


routes = [
    list_own_variables,
    get_own_variable,
    create_own_variable,
    edit_own_variable,
    delete_own_variable,
    list_variables,
    get_variable,
    create_variable,
    edit_variable,
    delete_variable,
]
