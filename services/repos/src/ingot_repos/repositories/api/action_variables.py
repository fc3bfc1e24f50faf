"""Variables of Actions for external CI systems, managed by administrators of the repository."""

from litestar import MediaType, Response, delete, get, post, put

from ingot_chassis.errors import NotFound
from ingot_contracts.action_variables import (
    ActionVariable,
    CreateActionVariable,
    EditActionVariable,
    variable_name,
)
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.repositories.rules import action_variables
from ingot_repos.repositories.store import action_variables as store
from ingot_repos.repositories.store.action_variables import ActionVariableRow

PATH = "/api/v1/repos/{owner:str}/{repo:str}/actions/variables"


def view(row: ActionVariableRow) -> ActionVariable:
    return ActionVariable(
        owner_id=0, repo_id=row.repository_id, name=row.name, data=row.value, description=row.description
    )


@get(
    PATH,
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="getRepoVariablesList",
    tags=["repository"],
)
async def list_variables(request: RepositoryRequest) -> Response[list[ActionVariable]]:
    """List the variables of a repository."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.resource.id, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@get(
    PATH + "/{name:str}",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="getRepoVariable",
    tags=["repository"],
)
async def get_variable(request: RepositoryRequest, name: str) -> ActionVariable:
    """Return a variable of a repository."""
    async with request.db.read() as db:
        row = await store.get(db, request.resource.id, variable_name(name))
    if row is None:
        raise NotFound
    return view(row)


@post(
    PATH + "/{name:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="createRepoVariable",
    tags=["repository"],
    status_code=201,
    media_type=MediaType.TEXT,  # the response has no body
)
async def create_variable(request: RepositoryRequest, name: str, data: CreateActionVariable) -> None:
    """Add a variable to a repository. Answers 409 if the name is taken."""
    async with request.db.transaction() as tx:
        await action_variables.create(tx, request.resource.id, name, data)


@put(
    PATH + "/{name:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="updateRepoVariable",
    tags=["repository"],
    status_code=204,
)
async def edit_variable(request: RepositoryRequest, name: str, data: EditActionVariable) -> None:
    """Change a variable of a repository."""
    async with request.db.transaction() as tx:
        await action_variables.edit(tx, request.resource.id, name, data)


@delete(
    PATH + "/{name:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="deleteRepoVariable",
    tags=["repository"],
)
async def delete_variable(request: RepositoryRequest, name: str) -> None:
    """Delete a variable of a repository."""
    async with request.db.transaction() as tx:
        if not await store.remove(tx, request.resource.id, variable_name(name)):
            raise NotFound


routes = [list_variables, get_variable, create_variable, edit_variable, delete_variable]
