"""Milestones of a repository."""

from datetime import datetime
from typing import Any, Literal

from ingot_chassis.database import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.tables import now
from ingot_contracts.issues import Milestone, MilestoneChanged
from ingot_issues.core.issues import clean_title, due
from ingot_issues.core.site import Site
from ingot_issues.store import milestones as store
from ingot_issues.store.milestones import MilestoneRow
from ingot_issues.store.repositories import plain


async def create_milestone(
    tx: Tx, site: Site, *, title: str, description: str, due_on: datetime | None, closed: bool
) -> Milestone:
    """Raises Invalid."""
    await site.enter(tx)
    milestone_id = await store.add(
        tx,
        repository_id=site.repository.id,
        title=clean_title(title),
        description=description,
        due_on=due(due_on),
        state="closed" if closed else "open",
        closed_at=now() if closed else None,
    )
    return await _told(tx, site, await _existing(tx, site, milestone_id), "created")


async def change_milestone(
    tx: Tx,
    site: Site,
    milestone_id: int,
    *,
    title: str | None,
    description: str | None,
    state: Literal["open", "closed"] | None,
    due_on: datetime | None,
) -> Milestone:
    """Change what is not None; an empty title changes nothing. Raises NotFound."""
    await site.enter(tx)
    before = await _existing(tx, site, milestone_id)
    values: dict[str, Any] = {}
    if title:
        values["title"] = clean_title(title)
    if description is not None:
        values["description"] = description
    if due_on is not None:
        values["due_on"] = due(due_on)
    if state is not None and state != before.state:
        values |= {"state": state, "closed_at": now() if state == "closed" else None}
    changed = {key: value for key, value in values.items() if value != getattr(before, key)}
    if not changed:
        return site.viewing.milestone(before)
    await store.change(tx, milestone_id, **changed)
    return await _told(tx, site, await _existing(tx, site, milestone_id), "edited")


async def delete_milestone(tx: Tx, site: Site, milestone_id: int) -> None:
    """Its issues go on without; nothing happens when there is none."""
    await site.enter(tx)
    row = await store.get(tx, site.repository.id, milestone_id)
    if row is not None:
        await store.remove(tx, milestone_id)
        await _told(tx, site, row, "deleted")


async def _told(
    tx: Tx, site: Site, row: MilestoneRow, action: Literal["created", "edited", "deleted"]
) -> Milestone:
    """Tell what happened to a milestone; its view."""
    repository, sender = plain(site.repository), await site.sender(tx)
    milestone = site.viewing.milestone(row)
    happened = MilestoneChanged(action=action, milestone=milestone, repository=repository, sender=sender)
    tx.emit(happened, key=repository.id)
    return milestone


async def _existing(tx: Tx, site: Site, milestone_id: int) -> MilestoneRow:
    row = await store.get(tx, site.repository.id, milestone_id)
    if row is None:
        raise NotFound
    return row
