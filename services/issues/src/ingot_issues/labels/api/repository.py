"""Labels of a repository."""

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.issues.labels import Label
from ingot_contracts.limits import Description, Name
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.labels.rules import repository as labels
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import repository as store


class CreateLabelOption(msgspec.Struct):
    """A new label. ``color`` may begin with ``#``."""

    name: Name
    color: Name
    description: Description = ""
    exclusive: bool = False
    is_archived: bool = False


class EditLabelOption(msgspec.Struct):
    """A change of a label. Absent fields keep their values."""

    name: Name | UnsetType = UNSET
    color: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    exclusive: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET


@get("/labels", policy=in_repository("read", "read:issue"), operation_id="issueListLabels", tags=["issue"])
async def list_labels(request: IssuesRequest) -> Response[list[Label]]:
    """List labels by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.repository_id, page)
    presenter, repository = request.presenter, request.access.repository
    page_labels = [label_view(presenter, row, repository.full_name) for row in rows]
    return Response(page_labels, headers=request.page_headers(page, total))


@post(
    "/labels",
    policy=in_repository("write", "write:issue"),
    operation_id="issueCreateLabel",
    tags=["issue"],
    status_code=201,
)
async def create_label(request: IssuesRequest, data: CreateLabelOption) -> Label:
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
    """Get a label by its id or its name."""
    async with request.db.read() as db:
        row = None
        if number := queries.id_in(label_id):
            row = await store.get(db, request.repository_id, number)
        elif label_id == queries.storable(label_id):
            row = await store.get_by_name(db, request.repository_id, label_id)
    if row is None:
        raise NotFound
    return label_view(request.presenter, row, request.access.repository.full_name)


@patch(
    "/labels/{label_id:int}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueEditLabel",
    tags=["issue"],
)
async def edit_label(request: IssuesRequest, label_id: int, data: EditLabelOption) -> Label:
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
    """Delete a label, and remove it from issues. A missing label is not an error."""
    context = await request.context()
    async with request.db.transaction() as tx:
        await labels.delete_label(tx, context, label_id)


routes = [list_labels, create_label, get_label, edit_label, delete_label]
