"""Issues; pull requests are seen here as issues, too."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, get, patch, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Denied
from ingot_chassis.policy import resource
from ingot_contracts.issues import Issue
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.api.queries import InState
from ingot_issues.core import issues, references
from ingot_issues.core import labels as labelling
from ingot_issues.core.access import may_edit_issue, may_write
from ingot_issues.store import searches
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.searches import Wanted
from ingot_issues.store.surroundings import Surroundings


class CreateIssue(msgspec.Struct, kw_only=True):
    """All but title and body counts only with write access."""

    title: str
    body: str = ""
    assignee: str = ""
    assignees: list[str] = []
    milestone: int = 0
    labels: list[int | str] = []
    due_date: datetime | None = None
    closed: bool = False

    @property
    def people(self) -> list[str]:
        return [login for login in dict.fromkeys([self.assignee, *self.assignees]) if login]


class EditIssue(msgspec.Struct, kw_only=True):
    """What is absent stays. An empty ``assignee`` and ``milestone`` 0 clear."""

    title: str = ""
    body: str | UnsetType = UNSET
    assignee: str | UnsetType = UNSET
    assignees: list[str] | UnsetType = UNSET
    milestone: int | UnsetType = UNSET
    state: str = ""
    due_date: datetime | None = None
    unset_due_date: bool = False

    @property
    def people(self) -> list[str] | None:
        """The names of all assignees, or None when they stay."""
        if self.assignees is not UNSET:
            return [login for login in self.assignees if login]
        if self.assignee is not UNSET:
            return [self.assignee] if self.assignee else []
        return None

    def edit(self) -> issues.Edit:
        """As the use case takes it, without what only writers may change."""
        return issues.Edit(
            title=self.title,
            body=None if self.body is UNSET else self.body,
            state=None if not self.state else "closed" if self.state == "closed" else "open",
        )


def view(request: Call, row: IssueRow) -> Issue:
    """One issue; its row has its surroundings."""
    return request.viewing.issue(row, request.access.repository, Surroundings.of([row]))


async def opening(request: Call, data: CreateIssue) -> issues.Opening:
    """What the caller may start an issue with. Raises Invalid."""
    title, body = issues.clean_title(data.title), references.clean_text(data.body)
    found = await references.find_in_opened(title, body)
    plain = issues.Opening(title=title, body=body, references=found)
    beyond = data.people or data.milestone or data.labels or data.due_date
    if not beyond or not await request.allowed(may_write):
        return plain
    ids, names = labelling.ids_and_names(data.labels)
    return msgspec.structs.replace(
        plain,
        assignees=await request.assignable(data.people) if data.people else [],
        milestone_id=data.milestone,
        labels=ids,
        label_names=names,
        due_date=data.due_date,
    )


@get(
    "/issues",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueListIssues",
    tags=["issue"],
)
async def list_issues(
    request: Call,
    in_state: InState = "",
    labels: list[str] | None = None,
    milestones: list[str] | None = None,
    milestone: list[str] | None = None,
    q: str = "",
    of_type: Annotated[str, QueryParameter(name="type")] = "",
    since: str = "",
    before: str = "",
    created_by: str = "",
    assigned_by: str = "",
    sort: str = "",
) -> Response[list[Issue]]:
    """Issues and pull requests, newest first; open ones unless `state` says otherwise."""
    page = request.page()
    label_ids, label_names = queries.ids_and_names("labels", labels)
    milestone_ids, milestone_titles = queries.ids_and_names(
        "milestones", [*(milestones or []), *(milestone or [])]
    )
    is_pull = queries.kind(of_type)
    if not request.access.pulls_enabled:
        if is_pull:
            return Response([], headers=request.page_headers(page, 0))
        is_pull = False
    wanted = Wanted(
        is_pull=is_pull,
        state=queries.state(in_state, "open"),
        label_ids=label_ids,
        label_names=label_names,
        milestone_ids=milestone_ids,
        milestone_titles=milestone_titles,
        text=queries.storable(q).strip(),
        since=queries.moment(since),
        before=queries.moment(before),
        created_by=queries.storable(created_by),
        assigned_by=queries.storable(assigned_by),
        sort=sort,
    )
    async with request.db.read() as db:
        rows, total = await searches.search(db, request.repository_id, wanted, page)
    around = Surroundings.of(rows)
    viewing, repository = request.viewing, request.access.repository
    found = [viewing.issue(row, repository, around) for row in rows]
    return Response(found, headers=request.page_headers(page, total))


@post(
    "/issues",
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id="issueCreateIssue",
    tags=["issue"],
    status_code=201,
)
async def create_issue(request: Call, data: CreateIssue) -> Issue:
    """Open an issue."""
    begun = await opening(request, data)
    closed = data.closed and await request.allowed(may_write)
    site = await request.site()
    async with request.db.transaction() as tx:
        row = await issues.open_issue(tx, site, begun, closed=closed)
    return view(request, row)


@get(
    "/issues/{index:int}",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueGetIssue",
    tags=["issue"],
)
async def get_issue(request: Call, index: int) -> Issue:
    """An issue or pull request by its number."""
    return view(request, await request.issue(index))


@patch(
    "/issues/{index:int}",
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id="issueEditIssue",
    tags=["issue"],
    status_code=201,
)
async def edit_issue(request: Call, index: int, data: EditIssue) -> Issue:
    """Change an issue: its author and writers may; only writers change assignees, milestone and due date."""
    seen = await request.issue(index)
    wanted, site = await allowed_edit(request, seen, data), await request.site()
    async with request.db.transaction() as tx:
        row = await issues.edit(tx, site, seen, wanted)
    return view(request, row)


async def allowed_edit(request: Call, seen: IssueRow, data: EditIssue) -> issues.Edit:
    """What of a wanted change the caller may make. Raises Denied or Invalid."""
    if not await request.allowed(lambda access: may_edit_issue(access, request.who, seen.author_id)):
        raise Denied("only its author and writers of the repository may edit it")
    wanted = data.edit()
    if wanted.title or wanted.body is not None:
        title = issues.clean_title(wanted.title) if wanted.title else seen.title
        body = seen.body if wanted.body is None else references.clean_text(wanted.body)
        wanted.references = await references.find_in_opened(title, body)
    people = data.people
    beyond = people is not None or data.milestone is not UNSET or data.due_date or data.unset_due_date
    if beyond and await request.allowed(may_write):
        if people is not None:
            held = Surroundings.of([seen]).assignees.get(seen.id, [])
            wanted.assignees = await request.assignable(people, held)
        wanted.milestone_id = None if data.milestone is UNSET else data.milestone
        wanted.due_date, wanted.no_due_date = data.due_date, data.unset_due_date
    return wanted


routes = [list_issues, create_issue, get_issue, edit_issue]
