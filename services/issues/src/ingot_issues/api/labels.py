"""Labels of a repository."""

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.issues import Label
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.core import labels
from ingot_issues.store import labels as store


class CreateLabel(msgspec.Struct):
    """``color`` with or without ``#``."""

    name: str
    color: str


class EditLabel(msgspec.Struct):
    name: str | None = None
    color: str | None = None


@get("/labels", policy=resource("read", "read:issue"), operation_id="issueListLabels", tags=["issue"])
async def list_labels(request: Call) -> Response[list[Label]]:
    """Labels by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, request.repository_id, page)
    found = [request.viewing.label(row, request.access.repository) for row in rows]
    return Response(found, headers=request.page_headers(page, total))


@post(
    "/labels",
    policy=resource("write", "write:issue"),
    operation_id="issueCreateLabel",
    tags=["issue"],
    status_code=201,
)
async def create_label(request: Call, data: CreateLabel) -> Label:
    """Make a label."""
    site = await request.site()
    async with request.db.transaction() as tx:
        return await labels.create_label(tx, site, data.name, data.color)


@get(
    "/labels/{label_id:str}",
    policy=resource("read", "read:issue"),
    operation_id="issueGetLabel",
    tags=["issue"],
)
async def get_label(request: Call, label_id: str) -> Label:
    """A label by its id, or else by its name."""
    async with request.db.read() as db:
        row = None
        if number := queries.id_in(label_id):
            row = await store.get(db, request.repository_id, number)
        elif label_id == queries.storable(label_id):
            row = await store.get_by_name(db, request.repository_id, label_id)
    if row is None:
        raise NotFound
    return request.viewing.label(row, request.access.repository)


@patch(
    "/labels/{label_id:int}",
    policy=resource("write", "write:issue"),
    operation_id="issueEditLabel",
    tags=["issue"],
)
async def edit_label(request: Call, label_id: int, data: EditLabel) -> Label:
    """Rename or recolour a label."""
    site = await request.site()
    async with request.db.transaction() as tx:
        return await labels.change_label(tx, site, label_id, data.name, data.color)


@delete(
    "/labels/{label_id:int}",
    policy=resource("write", "write:issue"),
    operation_id="issueDeleteLabel",
    tags=["issue"],
)
async def delete_label(request: Call, label_id: int) -> None:
    """Delete a label, also from the issues it is on. There is no error when it does not exist."""
    site = await request.site()
    async with request.db.transaction() as tx:
        await labels.delete_label(tx, site, label_id)


routes = [list_labels, create_label, get_label, edit_label, delete_label]
