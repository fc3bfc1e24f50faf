"""Use cases of milestones."""

from datetime import datetime
from typing import Any, cast

from ingot_chassis.clock import now
from ingot_chassis.db.rows import field_copier
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues.events import MilestoneChanged
from ingot_contracts.issues.labels import Milestone
from ingot_contracts.issues.states import State as StateName
from ingot_issues.milestones import store
from ingot_issues.milestones.store import MilestoneRow
from ingot_issues.records.rules.announcements import Action, MakeEvent, announce_in_repository
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.fields import clean_title, due
from ingot_issues.records.rules.presenter import whole_seconds
from ingot_issues.records.store.states import State


async def create_milestone(
    tx: Tx,
    context: RepositoryContext,
    *,
    title: str,
    description: str,
    due_on: datetime | None,
    state: State,
) -> Milestone:
    """Create a milestone. Raises Invalid."""
    await context.lock(tx)
    values = {
        "title": clean_title(title),
        "description": description,
        "due_on": due(due_on),
        "state": state,
        "closed_at": now() if state == State.CLOSED else None,
    }
    row = await store.add(tx, context.repository.id, values)
    milestone = milestone_view(row)
    await announce_in_repository(tx, context, _event("created", milestone))
    return milestone


async def edit_milestone(
    tx: Tx, context: RepositoryContext, milestone_id: int, fields: dict[str, Any]
) -> Milestone:
    """Change the given ``fields``: ``title``, ``description``, ``state`` and ``due_on``.

    Raises NotFound or Invalid. An empty title changes nothing.
    """
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, milestone_id)
    if row is None:
        raise NotFound
    values: dict[str, Any] = {}
    if fields.get("title"):
        values["title"] = clean_title(fields["title"])
    if "description" in fields:
        values["description"] = fields["description"]
    if "due_on" in fields:
        values["due_on"] = due(fields["due_on"])
    if "state" in fields and fields["state"] != row.state:
        values |= {
            "state": fields["state"],
            "closed_at": now() if fields["state"] == State.CLOSED else None,
        }
    changed = {name: value for name, value in values.items() if value != getattr(row, name)}
    if not changed:
        return milestone_view(row)
    milestone = milestone_view(await store.change(tx, milestone_id, changed))
    await announce_in_repository(tx, context, _event("edited", milestone))
    return milestone


async def delete_milestone(tx: Tx, context: RepositoryContext, milestone_id: int) -> None:
    """Delete a milestone, but not its issues. A missing milestone is ignored."""
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, milestone_id)
    if row is not None:
        await store.remove(tx, milestone_id)
        milestone = milestone_view(row)
        await announce_in_repository(tx, context, _event("deleted", milestone))


def _event(action: Action, milestone: Milestone) -> MakeEvent:
    return lambda repository, sender: MilestoneChanged(
        action=action, milestone=milestone, repository=repository, sender=sender
    )


_TIMES = ("closed_at", "due_on", "created_at", "updated_at")
_COPIED = field_copier(MilestoneRow, Milestone, without=("state", *_TIMES))


def milestone_view(milestone: MilestoneRow) -> Milestone:
    return Milestone(
        state=cast("StateName", milestone.state),
        closed_at=whole_seconds(milestone.closed_at),
        due_on=whole_seconds(milestone.due_on),
        created_at=whole_seconds(milestone.created_at),
        updated_at=whole_seconds(milestone.updated_at),
        **_COPIED(milestone),
    )
