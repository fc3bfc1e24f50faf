"""Milestones of a repository."""

from datetime import datetime
from typing import Literal

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.issues import Milestone
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.api.queries import InState
from ingot_issues.core import milestones
from ingot_issues.store import milestones as store


class CreateMilestone(msgspec.Struct, kw_only=True):
    """``deadline`` is what forms call ``due_on``."""

    title: str
    description: str = ""
    state: Literal["open", "closed"] = "open"
    due_on: datetime | None = None
    deadline: datetime | None = None


class EditMilestone(msgspec.Struct, kw_only=True):
    """What is absent stays."""

    title: str | None = None
    description: str | None = None
    state: Literal["open", "closed"] | None = None
    due_on: datetime | None = None
    deadline: datetime | None = None


@get("/milestones", policy=resource("read", "read:issue"), operation_id="issueGetMilestones", tags=["issue"])
async def list_milestones(request: Call, in_state: InState = "", name: str = "") -> Response[list[Milestone]]:
    """Milestones in the order they were made, open and closed unless `state` says otherwise."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(
            db,
            request.repository_id,
            page,
            state=queries.state(in_state, "all"),
            title=queries.storable(name).strip(),
        )
    found = [request.viewing.milestone(row) for row in rows]
    return Response(found, headers=request.page_headers(page, total))


@post(
    "/milestones",
    policy=resource("write", "write:issue"),
    operation_id="issueCreateMilestone",
    tags=["issue"],
    status_code=201,
)
async def create_milestone(request: Call, data: CreateMilestone) -> Milestone:
    """Make a milestone."""
    site = await request.site()
    async with request.db.transaction() as tx:
        return await milestones.create_milestone(
            tx,
            site,
            title=data.title,
            description=data.description,
            due_on=data.due_on or data.deadline,
            closed=data.state == "closed",
        )


@get(
    "/milestones/{milestone_id:int}",
    policy=resource("read", "read:issue"),
    operation_id="issueGetMilestone",
    tags=["issue"],
)
async def get_milestone(request: Call, milestone_id: int) -> Milestone:
    """A milestone."""
    async with request.db.read() as db:
        row = await store.get(db, request.repository_id, milestone_id)
    if row is None:
        raise NotFound
    return request.viewing.milestone(row)


@patch(
    "/milestones/{milestone_id:int}",
    policy=resource("write", "write:issue"),
    operation_id="issueEditMilestone",
    tags=["issue"],
)
async def edit_milestone(request: Call, milestone_id: int, data: EditMilestone) -> Milestone:
    """Change, close or reopen a milestone."""
    site = await request.site()
    async with request.db.transaction() as tx:
        return await milestones.change_milestone(
            tx,
            site,
            milestone_id,
            title=data.title,
            description=data.description,
            state=data.state,
            due_on=data.due_on or data.deadline,
        )


@delete(
    "/milestones/{milestone_id:int}",
    policy=resource("write", "write:issue"),
    operation_id="issueDeleteMilestone",
    tags=["issue"],
)
async def delete_milestone(request: Call, milestone_id: int) -> None:
    """Delete a milestone; its issues go on without. There is no error when it does not exist."""
    site = await request.site()
    async with request.db.transaction() as tx:
        await milestones.delete_milestone(tx, site, milestone_id)


routes = [list_milestones, create_milestone, get_milestone, edit_milestone, delete_milestone]
