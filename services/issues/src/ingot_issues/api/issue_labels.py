"""Labels on an issue or pull request."""

import msgspec
from litestar import delete, get, post, put

from ingot_chassis.policy import resource
from ingot_contracts.issues import Label
from ingot_issues.api.call import Call
from ingot_issues.api.paths import named, on_issue
from ingot_issues.core import labels
from ingot_issues.store import surroundings as store
from ingot_issues.store.issues import IssueRow


class IssueLabels(msgspec.Struct):
    """Ids or names; those that the repository does not have are ignored."""

    labels: list[int | str] = []


async def labels_of(request: Call, issue: IssueRow) -> list[Label]:
    """By name."""
    async with request.db.read() as db:
        found = await store.labels_of(db, issue.id)
    return [request.viewing.label(row, request.access.repository) for row in found]


@get(
    on_issue("/labels"),
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id=named("issueGetLabels", "issues"),
    tags=["issue"],
)
async def list_issue_labels(request: Call, index: int) -> list[Label]:
    """Labels of an issue."""
    return await labels_of(request, await request.issue(index))


@post(
    on_issue("/labels"),
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id=named("issueAddLabel", "issue"),
    tags=["issue"],
    status_code=200,
)
async def add_issue_labels(request: Call, index: int, data: IssueLabels) -> list[Label]:
    """Put labels on an issue; answers all it has."""
    issue, site = await request.issue(index), await request.site()
    ids, names = labels.ids_and_names(data.labels)
    async with request.db.transaction() as tx:
        await labels.add_to_issue(tx, site, issue, ids, names)
    return await labels_of(request, issue)


@put(
    on_issue("/labels"),
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id=named("issueReplaceLabels", "issue"),
    tags=["issue"],
)
async def replace_issue_labels(request: Call, index: int, data: IssueLabels) -> list[Label]:
    """Leave exactly these labels on an issue."""
    issue, site = await request.issue(index), await request.site()
    ids, names = labels.ids_and_names(data.labels)
    async with request.db.transaction() as tx:
        await labels.replace_on_issue(tx, site, issue, ids, names)
    return await labels_of(request, issue)


@delete(
    on_issue("/labels"),
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id=named("issueClearLabels", "issue"),
    tags=["issue"],
)
async def clear_issue_labels(request: Call, index: int) -> None:
    """Take all labels off an issue."""
    issue, site = await request.issue(index), await request.site()
    async with request.db.transaction() as tx:
        await labels.clear_issue(tx, site, issue)


@delete(
    on_issue("/labels/{label_id:int}"),
    policy=resource("write", "write:issue"),
    unit="issues",
    operation_id=named("issueRemoveLabel", "issue"),
    tags=["issue"],
)
async def remove_issue_label(request: Call, index: int, label_id: int) -> None:
    """Take one label off an issue."""
    issue, site = await request.issue(index), await request.site()
    async with request.db.transaction() as tx:
        await labels.take_off_issue(tx, site, issue, label_id)


routes = [
    list_issue_labels, add_issue_labels, replace_issue_labels, clear_issue_labels, remove_issue_label,
]  # fmt: skip
