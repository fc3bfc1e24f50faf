"""Labels on an issue or pull request."""

import msgspec
from litestar import Response, delete, get, post, put

from ingot_contracts.issues.labels import Label
from ingot_issues.access.api.paths import on_issue, operation_ids
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.api.texts import Labels
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules import labels as issue_labels
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.labels.rules import repository as labels
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import repository as store


class IssueLabelsOption(msgspec.Struct):
    """Labels by id or name. Unknown labels are ignored."""

    labels: Labels = []


async def labels_of(request: IssuesRequest, issue: IssueDetails) -> list[Label]:
    """Return the labels of an issue, sorted by name."""
    async with request.db.read() as db:
        rows = await store.list_on_issue(db, issue.id)
    presenter, repository = request.presenter, request.access.repository
    return [label_view(presenter, row, repository.full_name) for row in rows]


@get(
    on_issue("/labels"),
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id=operation_ids("issueGetLabels", "issues"),
    tags=["issue"],
)
async def list_issue_labels(request: IssuesRequest, index: int) -> Response[list[Label]]:
    """List the labels of an issue by name."""
    issue_id, page = await issue_id_of(request, index), request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page_on_issue(db, issue_id, page)
    presenter, repository = request.presenter, request.access.repository
    page_labels = [label_view(presenter, row, repository.full_name) for row in rows]
    return Response(page_labels, headers=request.page_headers(page, total))


@post(
    on_issue("/labels"),
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id=operation_ids("issueAddLabel", "issue"),
    tags=["issue"],
    status_code=200,
)
async def add_issue_labels(request: IssuesRequest, index: int, data: IssueLabelsOption) -> list[Label]:
    """Add labels to an issue. Return all its labels."""
    issue, context = await issue_of(request, index), await request.context()
    ids, names = labels.ids_and_names(data.labels)
    async with request.db.transaction() as tx:
        await issue_labels.add_to_issue(tx, context, issue, ids, names)
    return await labels_of(request, issue)


@put(
    on_issue("/labels"),
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id=operation_ids("issueReplaceLabels", "issue"),
    tags=["issue"],
)
async def replace_issue_labels(request: IssuesRequest, index: int, data: IssueLabelsOption) -> list[Label]:
    """Replace the labels of an issue."""
    issue, context = await issue_of(request, index), await request.context()
    ids, names = labels.ids_and_names(data.labels)
    async with request.db.transaction() as tx:
        await issue_labels.replace_on_issue(tx, context, issue, ids, names)
    return await labels_of(request, issue)


@delete(
    on_issue("/labels"),
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id=operation_ids("issueClearLabels", "issue"),
    tags=["issue"],
)
async def clear_issue_labels(request: IssuesRequest, index: int) -> None:
    """Remove all labels from an issue."""
    issue, context = await issue_of(request, index), await request.context()
    async with request.db.transaction() as tx:
        await issue_labels.clear_issue(tx, context, issue)


@delete(
    on_issue("/labels/{label_id:int}"),
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id=operation_ids("issueRemoveLabel", "issue"),
    tags=["issue"],
)
async def remove_issue_label(request: IssuesRequest, index: int, label_id: int) -> None:
    """Remove a label from an issue."""
    issue, context = await issue_of(request, index), await request.context()
    async with request.db.transaction() as tx:
        await issue_labels.remove_from_issue(tx, context, issue, [label_id])


routes = [
    list_issue_labels, add_issue_labels, replace_issue_labels, clear_issue_labels, remove_issue_label,
]  # fmt: skip
