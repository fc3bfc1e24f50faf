"""Milestones of a repository."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts import issues as contracts
from ingot_contracts.issues import Milestone
from ingot_contracts.limits import Name, Text
from ingot_issues.api import queries
from ingot_issues.api.policies import in_repository
from ingot_issues.api.queries import InState
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core import milestones
from ingot_issues.store import milestones as store
from ingot_issues.store.milestones import MilestoneRow
from ingot_issues.store.states import State, StateFilter


class CreateMilestone(msgspec.Struct, kw_only=True):
    """``deadline`` is the name of ``due_on`` in forms."""

    title: Name
    description: Text = ""
    state: contracts.State = "open"
    due_on: datetime | None = None
    deadline: datetime | None = None


class EditMilestone(msgspec.Struct, kw_only=True):
    """A field that is absent stays."""

    title: Name | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    state: contracts.State | UnsetType = UNSET
    due_on: datetime | UnsetType = UNSET
    deadline: datetime | UnsetType = UNSET

    def fields(self) -> dict[str, Any]:
        """The fields to change, as the use case names them."""
        fields = set_fields(self)
        if "state" in fields:
            fields["state"] = State(fields["state"])
        deadline = fields.pop("deadline", None)
        return fields if deadline is None else {"due_on": deadline, **fields}


async def milestone_of(request: IssuesRequest, id_or_title: str) -> MilestoneRow:
    """The milestone with that id, or else with that title. Raises NotFound."""
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
    """Milestones, the oldest first unless `sort` is `newest`; the open ones unless `state` says otherwise."""
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
    page_milestones = [request.presenter.milestone(row) for row in rows]
    return Response(page_milestones, headers=request.page_headers(page, total))


@post(
    "/milestones",
    policy=in_repository("write", "write:issue"),
    operation_id="issueCreateMilestone",
    tags=["issue"],
    status_code=201,
)
async def create_milestone(request: IssuesRequest, data: CreateMilestone) -> Milestone:
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
    """A milestone by its id, or else by its title."""
    return request.presenter.milestone(await milestone_of(request, milestone_id))


@patch(
    "/milestones/{milestone_id:str}",
    policy=in_repository("write", "write:issue"),
    operation_id="issueEditMilestone",
    tags=["issue"],
)
async def edit_milestone(request: IssuesRequest, milestone_id: str, data: EditMilestone) -> Milestone:
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
    """Delete a milestone, whose issues stay. There is no error when it does not exist."""
    try:
        row = await milestone_of(request, milestone_id)
    except NotFound:
        return
    context = await request.context()
    async with request.db.transaction() as tx:
        await milestones.delete_milestone(tx, context, row.id)


routes = [list_milestones, create_milestone, get_milestone, edit_milestone, delete_milestone]
