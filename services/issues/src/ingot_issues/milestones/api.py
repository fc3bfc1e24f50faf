"""Milestones of a repository."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.issues import states
from ingot_contracts.issues.labels import Milestone
from ingot_contracts.limits import Name, Text
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.queries import InState
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.milestones import rules as milestones
from ingot_issues.milestones import store
from ingot_issues.milestones.rules import milestone_view
from ingot_issues.milestones.store import MilestoneRow
from ingot_issues.records.store.states import State, StateFilter


class CreateMilestoneOption(msgspec.Struct, kw_only=True):
    """A new milestone. ``deadline`` is another name of ``due_on``, used by forms."""

    title: Name
    description: Text = ""
    state: states.State = "open"
    due_on: datetime | None = None
    deadline: datetime | None = None


class EditMilestoneOption(msgspec.Struct, kw_only=True):
    """A change of a milestone. Absent fields keep their values."""

    title: Name | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    state: states.State | UnsetType = UNSET
    due_on: datetime | UnsetType = UNSET
    deadline: datetime | UnsetType = UNSET

    def fields(self) -> dict[str, Any]:
        """Return the fields to change, as ``rules.edit_milestone`` takes them."""
        fields = set_fields(self)
        if "state" in fields:
            fields["state"] = State(fields["state"])
        deadline = fields.pop("deadline", None)
        return fields if deadline is None else {"due_on": deadline, **fields}


async def milestone_of(request: IssuesRequest, id_or_title: str) -> MilestoneRow:
    """Return the milestone with that id or title. Raises NotFound."""
    row = None
    async with request.db.read() as db:
        if number := queries.id_in(id_or_title):
            row = await store.get(db, request.repository_id, number)
        if row is None:
            row = await store.get_by_title(db, request.repository_id, id_or_title)
    if row is None:
        raise NotFound
    return row


@get(
    "/milestones",
    policy=in_repository("read", "read:issue"),
    operation_id="issueGetMilestones",
    tags=["issue"],
)
async def list_milestones(
    request: IssuesRequest, in_state: InState = "", name: str = "", sort: str = ""
) -> Response[list[Milestone]]:
    """List milestones, the oldest first unless `sort` is `newest`.

    Only open milestones are listed, unless `state` is given.
    """
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(
            db,
            request.repository_id,
            page,
            state=queries.state(in_state, StateFilter.OPEN),
            title=queries.storable(name).strip(),
            newest_first=sort == "newest",
        )
    page_milestones = [milestone_view(row) for row in rows]
    return Response(page_milestones, headers=request.page_headers(page, total))


@post(
    "/milestones",
    policy=in_repository("write", "write:issue"),
    operation_id="issueCreateMilestone",
    tags=["issue"],
    status_code=201,
)
async def create_milestone(request: IssuesRequest, data: CreateMilestoneOption) -> Milestone:
    """Create a milestone."""
    context = await request.context()
    async with request.db.transaction() as tx:
        return await milestones.create_milestone(
            tx,
            context,
            title=data.title,
            description=data.description,
            due_on=data.due_on or data.deadline,
            state=State(data.state),
        )


@get(
    "/milestones/{milestone_id:str}",
    policy=in_repository("read", "read:issue"),
    operation_id="issueGetMilestone",
    tags=["issue"],
)
async def get_milestone(request: IssuesRequest, milestone_id: str) -> Milestone:
    """Get a milestone by its id or its title."""
    return milestone_view(await milestone_of(request, milestone_id))


@patch(
    "/milestones/{milestone_id:str}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueEditMilestone",
    tags=["issue"],
)
async def edit_milestone(request: IssuesRequest, milestone_id: str, data: EditMilestoneOption) -> Milestone:
    """Change, close or reopen a milestone."""
    row, context = await milestone_of(request, milestone_id), await request.context()
    async with request.db.transaction() as tx:
        return await milestones.edit_milestone(tx, context, row.id, data.fields())


@delete(
    "/milestones/{milestone_id:str}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueDeleteMilestone",
    tags=["issue"],
)
async def delete_milestone(request: IssuesRequest, milestone_id: str) -> None:
    """Delete a milestone. Its issues are not deleted. A missing milestone is not an error."""
    try:
        row = await milestone_of(request, milestone_id)
    except NotFound:
        return
    context = await request.context()
    async with request.db.transaction() as tx:
        await milestones.delete_milestone(tx, context, row.id)


routes = [list_milestones, create_milestone, get_milestone, edit_milestone, delete_milestone]
