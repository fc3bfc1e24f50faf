"""Labels of a repository."""

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.issues import Label
from ingot_contracts.limits import Description, Name
from ingot_issues.api import queries
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core import labels
from ingot_issues.store import labels as store


class CreateLabel(msgspec.Struct):
    """``color`` with or without ``#``."""

    name: Name
    color: Name
    description: Description = ""
    exclusive: bool = False
    is_archived: bool = False


class EditLabel(msgspec.Struct):
    """A field that is absent stays."""

    name: Name | UnsetType = UNSET
    color: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    exclusive: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET


@get("/labels", policy=in_repository("read", "read:issue"), operation_id="issueListLabels", tags=["issue"])
async def list_labels(request: IssuesRequest) -> Response[list[Label]]:
    """Labels by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.repository_id, page)
    presenter, repository = request.presenter, request.access.repository
    page_labels = [presenter.label(row, repository.full_name) for row in rows]
    return Response(page_labels, headers=request.page_headers(page, total))


@post(
    "/labels",
    policy=in_repository("write", "write:issue"),
    operation_id="issueCreateLabel",
    tags=["issue"],
    status_code=201,
)
async def create_label(request: IssuesRequest, data: CreateLabel) -> Label:
    """Create a label."""
    context = await request.context()
    async with request.db.transaction() as tx:
        return await labels.create_label(tx, context, set_fields(data))


@get(
    "/labels/{label_id:str}",
    policy=in_repository("read", "read:issue"),
    operation_id="issueGetLabel",
    tags=["issue"],
)
async def get_label(request: IssuesRequest, label_id: str) -> Label:
    """A label by its id, or else by its name."""
    async with request.db.read() as db:
        row = None
        if number := queries.id_in(label_id):
            row = await store.get(db, request.repository_id, number)
        elif label_id == queries.storable(label_id):
            row = await store.get_by_name(db, request.repository_id, label_id)
    if row is None:
        raise NotFound
    return request.presenter.label(row, request.access.repository.full_name)


@patch(
    "/labels/{label_id:int}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueEditLabel",
    tags=["issue"],
)
async def edit_label(request: IssuesRequest, label_id: int, data: EditLabel) -> Label:
    """Change a label."""
    context = await request.context()
    async with request.db.transaction() as tx:
        return await labels.edit_label(tx, context, label_id, set_fields(data))


@delete(
    "/labels/{label_id:int}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueDeleteLabel",
    tags=["issue"],
)
async def delete_label(request: IssuesRequest, label_id: int) -> None:
    """Delete a label, also from issues. There is no error when it does not exist."""
    context = await request.context()
    async with request.db.transaction() as tx:
        await labels.delete_label(tx, context, label_id)


routes = [list_labels, create_label, get_label, edit_label, delete_label]
