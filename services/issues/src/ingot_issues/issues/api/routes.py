"""Routes of issues and pull requests."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Denied
from ingot_chassis.http.patch import set_fields
from ingot_contracts.issues.issues import Issue
from ingot_contracts.limits import Name
from ingot_issues.access.api import queries
from ingot_issues.access.api.logins import resolve_assignees
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.queries import InState
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.api.texts import Labels, Logins, Projects
from ingot_issues.access.rules.repositories import may_administer, may_edit_issue, may_write
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules import editing as issues
from ingot_issues.issues.rules.editing import IssueEdit, NewIssue
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store import lists as searches
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.issues.store.lists import ABSENCES, IssueFilter
from ingot_issues.labels.rules import repository as label_rules
from ingot_issues.markdown.api.texts import Markdown
from ingot_issues.records.rules import fields
from ingot_issues.records.store.states import State, StateFilter
from ingot_issues.references import rules as references


class CreateIssueOption(msgspec.Struct, kw_only=True):
    """A new issue. Without write access only `title`, `body` and `ref` are used.

    Any `projects` are rejected with 422.
    """

    title: Name
    body: Markdown = ""
    assignee: Name = ""
    assignees: Logins = []
    milestone: int = 0
    labels: Labels = []
    due_date: datetime | None = None
    closed: bool = False
    ref: Name = ""
    projects: Projects = []

    @property
    def logins(self) -> list[str]:
        """Return the logins of all assignees."""
        return [login for login in dict.fromkeys([self.assignee, *self.assignees]) if login]

    @property
    def needs_write_access(self) -> bool:
        return bool(self.logins or self.milestone or self.labels or self.due_date)


class EditIssueOption(msgspec.Struct, kw_only=True):
    """A change of an issue. Absent fields keep their values.

    An empty `assignee`, or `milestone` 0, removes the value. `content_version` is the version that the caller
    saw: 409 if the body was edited since. Any `projects` are rejected with 422.
    """

    title: Name | UnsetType = UNSET
    body: Markdown | UnsetType = UNSET
    assignee: Name | UnsetType = UNSET
    assignees: Logins | UnsetType = UNSET
    milestone: int | UnsetType = UNSET
    state: Name | UnsetType = UNSET
    due_date: datetime | UnsetType = UNSET
    unset_due_date: bool = False
    ref: Name | UnsetType = UNSET
    content_version: int | UnsetType = UNSET
    projects: Projects = []

    @property
    def logins(self) -> list[str] | None:
        """Return the logins of all assignees, or None if they do not change."""
        if self.assignees is not UNSET:
            return [login for login in self.assignees if login]
        if self.assignee is not UNSET:
            return [self.assignee] if self.assignee else []
        return None

    @property
    def needs_write_access(self) -> bool:
        return bool(
            {"assignee", "assignees", "milestone", "due_date"} & set_fields(self).keys()
            or self.unset_due_date
        )

    def text_edit(self) -> IssueEdit:
        """Return the changes that need no write access. An empty title or state is ignored."""
        fields = set_fields(self)
        state = fields.get("state")
        return IssueEdit(
            title=fields.get("title"),
            body=fields.get("body"),
            ref=fields.get("ref"),
            state=None if not state else State.CLOSED if state == "closed" else State.OPEN,
            content_version=fields.get("content_version"),
        )


def present(request: IssuesRequest, issue: IssueDetails) -> Issue:
    return issue_view(request.presenter, issue, request.access.repository)


async def new_issue_of(request: IssuesRequest, data: CreateIssueOption) -> NewIssue:
    """Return the fields of ``data`` that the caller may set. Other fields are ignored. Raises Invalid."""
    issues.refuse_projects(data.projects)
    title, body = fields.clean_title(data.title), data.body
    new_issue = NewIssue(
        title=title, body=body, ref=data.ref, references=await references.references_of(title, body)
    )
    if not data.needs_write_access or not await request.allowed(may_write):
        return new_issue
    ids, names = label_rules.ids_and_names(data.labels)
    return msgspec.structs.replace(
        new_issue,
        assignees=await resolve_assignees(request, data.logins) if data.logins else [],
        milestone_id=data.milestone,
        labels=ids,
        label_names=names,
        due_date=data.due_date,
    )


@get(
    "/issues",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListIssues",
    tags=["issue"],
)
async def list_issues(
    request: IssuesRequest,
    in_state: InState = "",
    labels: list[str] | None = None,
    label_name: list[str] | None = None,
    milestones: list[str] | None = None,
    milestone: list[str] | None = None,
    milestone_title: list[str] | None = None,
    without: list[str] | None = None,
    q: str = "",
    of_type: Annotated[str, QueryParameter(name="type")] = "",
    since: str = "",
    before: str = "",
    created_by: str = "",
    assigned_by: str = "",
    mentioned_by: str = "",
    sort: str = "",
) -> Response[list[Issue]]:
    """List issues and pull requests, latest first. Without `state`, only open issues are listed.

    `q` finds issues with each of its words in the title, the body or a comment. Words in quotation marks are
    found as a phrase. Each word finds at most the latest 10,000 issues, and the latest 10,000 comments. The
    sort `relevance` lists issues with all words in the title first.

    `labels` and `milestones` are lists separated by commas. `label_name` and `milestone_title` are one name,
    which may contain commas. An issue must have all of the labels, and one of the milestones. `without` omits
    issues with `labels`, a `milestone` or an `assignee`.
    """
    page = request.page()
    label_ids, label_names = queries.ids_and_names("labels", labels)
    milestone_ids, milestone_titles = queries.ids_and_titles(
        "milestones", [*(milestones or []), *(milestone or [])]
    )
    more_labels = queries.whole_names("label_name", label_name)
    more_titles = queries.whole_names("milestone_title", milestone_title)
    absences = queries.choices("without", without, ABSENCES)
    is_pull = queries.kind(of_type)
    readable = (request.access.issues_enabled, request.access.pulls_enabled)
    if not any(readable) or (is_pull is not None and not readable[is_pull]):
        return Response([], headers=request.page_headers(page, 0))
    if not all(readable):
        is_pull = readable[1]
    filters = IssueFilter(
        is_pull=is_pull,
        state=queries.state(in_state, StateFilter.OPEN),
        label_ids=label_ids,
        label_names=[*label_names, *more_labels],
        milestone_ids=milestone_ids,
        milestone_titles=[*milestone_titles, *more_titles],
        without=absences,
        text=queries.storable(q).strip(),
        since=queries.moment(since),
        before=queries.end(before),
        created_by=queries.storable(created_by),
        assigned_by=queries.storable(assigned_by),
        mentioned_by=queries.storable(mentioned_by),
        sort=sort,
    )
    async with request.db.read() as db:
        rows, total = await searches.list_page(db, request.repository_id, filters, page)
    presenter, repository = request.presenter, request.access.repository
    page_issues = [issue_view(presenter, row, repository) for row in rows]
    return Response(page_issues, headers=request.page_headers(page, total))


@post(
    "/issues",
    policy=in_repository("signed-in", "write:issue", "issues"),
    operation_id="issueCreateIssue",
    tags=["issue"],
    status_code=201,
)
async def create_issue(request: IssuesRequest, data: CreateIssueOption) -> Issue:
    """Open an issue."""
    await request.require_unblocked()
    new_issue = await new_issue_of(request, data)
    closed = data.closed and await request.allowed(may_write)
    context = await request.context()
    async with request.db.transaction() as tx:
        issue = await issues.open_issue(tx, context, new_issue, closed=closed)
    return present(request, issue)


@get(
    "/issues/{index:int}",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetIssue",
    tags=["issue"],
)
async def get_issue(request: IssuesRequest, index: int) -> Issue:
    """Get an issue or pull request by its number."""
    return present(request, await issue_of(request, index))


@patch(
    "/issues/{index:int}",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueEditIssue",
    tags=["issue"],
    status_code=201,
)
async def edit_issue(request: IssuesRequest, index: int, data: EditIssueOption) -> Issue:
    """Change an issue. Allowed for its author, and for users with write access.

    Without write access, changes of assignees, milestone and due date are ignored.
    """
    issue = await issue_of(request, index)
    edit, context = await allowed_edit(request, issue, data), await request.context()
    async with request.db.transaction() as tx:
        edited = await issues.edit_issue(tx, context, issue, edit)
    return present(request, edited)


@delete(
    "/issues/{index:int}",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueDelete",
    tags=["issue"],
)
async def delete_issue(request: IssuesRequest, index: int) -> None:
    """Delete an issue or pull request permanently. Administrators of the repository may do this."""
    issue = await issue_of(request, index)
    if not await request.allowed(may_administer):
        raise Denied("only administrators of the repository may delete it")
    context = await request.context()
    async with request.db.transaction() as tx:
        await issues.delete_issue(tx, context, issue)


async def allowed_edit(request: IssuesRequest, issue: IssueDetails, data: EditIssueOption) -> IssueEdit:
    """Return the changes in ``data`` that the caller may make. Other changes are ignored.

    Raises Invalid, and Denied if the caller may not edit the issue.
    """
    if not await request.allowed(lambda access: may_edit_issue(access, request.principal, issue.author_id)):
        raise Denied("only its author and writers of the repository may edit it")
    issues.refuse_projects(data.projects)
    edit = data.text_edit()
    if edit.title or edit.body is not None:
        await request.require_unblocked(issue.author_id)
        title = fields.clean_title(edit.title) if edit.title else issue.title
        edit.references = await references.references_of(
            title, issue.body if edit.body is None else edit.body
        )
    if data.needs_write_access and await request.allowed(may_write):
        if data.logins is not None:
            edit.assignees = await resolve_assignees(request, data.logins, issue.assignee_ids)
        edit.milestone_id = None if data.milestone is UNSET else data.milestone
        edit.due_date = None if data.due_date is UNSET else data.due_date
        edit.remove_due_date = data.unset_due_date
    return edit


routes = [list_issues, create_issue, get_issue, edit_issue, delete_issue]
