"""Changes of many issues or pull requests by one request. Only web calls this.

Each issue has its own transaction, so the rejected change of one issue does not undo the others.
"""

from litestar import post

from ingot_chassis.errors import ApiError, Denied, NotFound
from ingot_contracts.issues.bulk_edits import AssigneesChange, EditIssues, EditOutcome, EditOutcomes
from ingot_issues.access.api.logins import resolve_assignees
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import NEEDS_WRITE, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.rules.bulk_edits import BulkEdit, IdsChange, change_one
from ingot_issues.issues.rules.labels import require_labels
from ingot_issues.issues.store import details as store
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.states import State


@post(
    "/internal/repos/{owner:str}/{repo:str}/issues/edits",
    policy=for_peer(in_repository("signed-in", "write:issue", "numbered"), "web"),
    include_in_schema=False,
    status_code=200,
)
async def edit_issues(request: IssuesRequest, data: EditIssues) -> EditOutcomes:
    """Change issues or pull requests one by one. Authors may change the state, writers all fields.

    Raises Invalid for values that no issue of the repository can have.
    """
    await request.enter(is_pull=data.is_pull)
    is_writer, context = await request.allowed(may_write), await request.context()
    edit = await _edit_of(request, context, data) if is_writer else BulkEdit(state=_state(data))
    numbers = list(dict.fromkeys(data.numbers))
    async with request.db.read() as db:
        rows = await store.list_by_numbers(db, request.repository_id, numbers, is_pull=data.is_pull)
    issues = {row.number: row for row in rows}
    outcomes: list[EditOutcome] = []
    for number in numbers:
        try:
            issue = issues.get(number)
            if issue is None:
                raise NotFound
            if not is_writer:
                _require_author(request, issue, data)
            async with request.db.transaction() as tx:
                changed = await change_one(tx, context, issue, edit)
            outcomes.append(EditOutcome(number=number, changed=changed))
        except ApiError as error:
            outcomes.append(EditOutcome(number=number, refusal=error.message))
    return EditOutcomes(outcomes=outcomes)


def _require_author(request: IssuesRequest, issue: IssueDetails, data: EditIssues) -> None:
    """Raise Denied unless the caller is the author and changes only the state."""
    if issue.author_id != request.principal.id:
        raise Denied("only its author and writers of the repository may edit it")
    if data.needs_write_access:
        raise Denied(NEEDS_WRITE)


def _state(data: EditIssues) -> State | None:
    return None if data.state is None else State.CLOSED if data.state == "closed" else State.OPEN


async def _edit_of(request: IssuesRequest, context: RepositoryContext, data: EditIssues) -> BulkEdit:
    """Return the requested change, with ids instead of logins.

    Raises Invalid for unknown labels, and for people without access.
    """
    if data.labels is not None:
        async with request.db.read() as db:
            await require_labels(db, context.repository, data.labels.ids, "labels")
    return BulkEdit(
        state=_state(data),
        milestone_id=data.milestone,
        labels=IdsChange(data.labels.how, data.labels.ids) if data.labels else None,
        assignees=await _assignees_of(request, data.assignees) if data.assignees else None,
    )


async def _assignees_of(request: IssuesRequest, change: AssigneesChange) -> IdsChange:
    """Return the requested assignees by id. People to remove need no access. Raises Invalid."""
    logins = [login for login in dict.fromkeys(change.logins) if login]
    if change.how != "remove":
        return IdsChange(change.how, await resolve_assignees(request, logins))
    async with request.db.read() as db:
        return IdsChange("remove", list((await accounts.user_ids_by_login(db, logins)).values()))


routes = [edit_issues]
