"""Labels of an organization."""

from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.identity.accounts import Account
from ingot_contracts.issues.labels import Label
from ingot_issues.access.api.policies import in_organization
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.labels.api.repository import CreateLabelOption, EditLabelOption
from ingot_issues.labels.rules import organization as rules
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import organization as store
from ingot_issues.labels.store.repository import LabelRow

PATH = "/api/v1/orgs/{org:str}/labels"


def _present(request: IssuesRequest, row: LabelRow) -> Label:
    organization: Account = request.resource
    return label_view(request.presenter, row, organization.login)


@get(
    PATH,
    policy=in_organization("read", "read:organization"),
    operation_id="orgListLabels",
    tags=["organization"],
)
async def list_labels(request: IssuesRequest) -> Response[list[Label]]:
    """List labels by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.resource.id, page)
    return Response([_present(request, row) for row in rows], headers=request.page_headers(page, total))


@post(
    PATH,
    policy=in_organization("write", "write:organization"),
    operation_id="orgCreateLabel",
    tags=["organization"],
    status_code=201,
)
async def create_label(request: IssuesRequest, data: CreateLabelOption) -> Label:
    """Create a label for the issues of all repositories of the organization."""
    async with request.db.transaction() as tx:
        row = await rules.create_label(tx, request.resource.id, set_fields(data))
    return _present(request, row)


@get(
    PATH + "/{label_id:int}",
    policy=in_organization("read", "read:organization"),
    operation_id="orgGetLabel",
    tags=["organization"],
)
async def get_label(request: IssuesRequest, label_id: int) -> Label:
    """Get a label."""
    async with request.db.read() as db:
        row = await store.get(db, request.resource.id, label_id)
    if row is None:
        raise NotFound
    return _present(request, row)


@patch(
    PATH + "/{label_id:int}",
    policy=in_organization("write", "write:organization"),
    operation_id="orgEditLabel",
    tags=["organization"],
)
async def edit_label(request: IssuesRequest, label_id: int, data: EditLabelOption) -> Label:
    """Change a label."""
    async with request.db.transaction() as tx:
        row = await rules.edit_label(tx, request.resource.id, label_id, set_fields(data))
    return _present(request, row)


@delete(
    PATH + "/{label_id:int}",
    policy=in_organization("write", "write:organization"),
    operation_id="orgDeleteLabel",
    tags=["organization"],
)
async def delete_label(request: IssuesRequest, label_id: int) -> None:
    """Delete a label, and remove it from issues. A missing label is not an error."""
    async with request.db.transaction() as tx:
        await store.remove(tx, request.resource.id, label_id)


routes = [list_labels, create_label, get_label, edit_label, delete_label]
