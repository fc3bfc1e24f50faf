"""Labels of a repository, and putting them on issues."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues import Label, LabelChanged
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues
from ingot_issues.store import labels as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.labels import LabelRow
from ingot_issues.store.repositories import plain
from ingot_issues.store.surroundings import labels_of

NAME_LENGTH = 255

MOST_NAMED = 100
"""Labels that one request puts on an issue."""

_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


def clean_name(name: str) -> str:
    """``name`` without space around it. Raises Invalid."""
    name = name.strip()
    if not name:
        raise Invalid.field("name", "required", "is required")
    if len(name) > NAME_LENGTH:
        raise Invalid.field("name", "length", f"has more than {NAME_LENGTH} characters")
    return name


def clean_color(color: str) -> str:
    """Six lower-case hex digits. Raises Invalid."""
    if not color:
        raise Invalid.field("color", "required", "is required")
    found = _COLOR.fullmatch(color)
    if found is None:
        raise Invalid.field("color", "format", f"{color!r} is not '#' and six hex digits")
    digits = found.group(1).lower()
    return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)


def ids_and_names(named: Iterable[int | str]) -> tuple[list[int], list[str]]:
    """What a list of labels names, each once. Raises Invalid for more than MOST_NAMED."""
    once = dict.fromkeys(named)
    if len(once) > MOST_NAMED:
        raise Invalid.field("labels", "length", f"are more than {MOST_NAMED}")
    return [one for one in once if isinstance(one, int)], [one for one in once if isinstance(one, str)]


async def create_label(tx: Tx, site: Site, name: str, color: str) -> Label:
    """Raises Invalid."""
    await site.enter(tx)
    values = {"name": clean_name(name), "color": clean_color(color)}
    row = await store.add(tx, repository_id=site.repository.id, **values)
    return await _told(tx, site, row, "created")


async def change_label(tx: Tx, site: Site, label_id: int, name: str | None, color: str | None) -> Label:
    """Rename or recolour. Raises NotFound or Invalid."""
    await site.enter(tx)
    row = await store.get(tx, site.repository.id, label_id)
    if row is None:
        raise NotFound
    values: dict[str, Any] = {}
    if name is not None:
        values["name"] = clean_name(name)
    if color is not None:
        values["color"] = clean_color(color)
    changed = {key: value for key, value in values.items() if value != getattr(row, key)}
    if not changed:
        return site.viewing.label(row, site.repository)
    return await _told(tx, site, await store.change(tx, label_id, **changed), "edited")


async def delete_label(tx: Tx, site: Site, label_id: int) -> None:
    """Also from the issues it is on; nothing happens when there is none."""
    await site.enter(tx)
    row = await store.get(tx, site.repository.id, label_id)
    if row is not None:
        await store.remove(tx, label_id)
        await _told(tx, site, row, "deleted")


async def _told(tx: Tx, site: Site, row: LabelRow, action: Literal["created", "edited", "deleted"]) -> Label:
    """Tell what happened to a label; its view."""
    repository, sender = plain(site.repository), await site.sender(tx)
    label = site.viewing.label(row, repository)
    tx.emit(LabelChanged(action=action, label=label, repository=repository, sender=sender), key=repository.id)
    return label


async def add_to_issue(tx: Tx, site: Site, issue: IssueRow, ids: list[int], names: list[str]) -> None:
    """Put the repository's own among ``ids`` and ``names`` on an issue."""
    await site.enter(tx)
    known = await store.known(tx, site.repository.id, ids, names)
    await _changed(tx, site, issue, added=await issues.add_labels(tx, issue.id, known))


async def replace_on_issue(
    tx: Tx, site: Site, issue: IssueRow, ids: list[int], names: list[str]
) -> IssueRow | None:
    """Leave exactly the repository's own among ``ids`` and ``names`` on an issue; its row, if that changed it."""
    await site.enter(tx)
    wanted = set(await store.known(tx, site.repository.id, ids, names))
    held = {row.id for row in await labels_of(tx, issue.id)}
    removed = await issues.remove_labels(tx, issue.id, sorted(held - wanted))
    added = await issues.add_labels(tx, issue.id, sorted(wanted - held))
    return await _changed(tx, site, issue, added=added, removed=removed)


async def take_off_issue(tx: Tx, site: Site, issue: IssueRow, label_id: int) -> None:
    """Take one label off, if it is on. Raises Invalid when the repository has no such label."""
    await site.enter(tx)
    if await store.get(tx, site.repository.id, label_id) is None:
        raise Invalid.field("id", "unknown", "is no label of the repository")
    await _changed(tx, site, issue, removed=await issues.remove_labels(tx, issue.id, [label_id]))


async def clear_issue(tx: Tx, site: Site, issue: IssueRow) -> None:
    """Take all labels off."""
    await site.enter(tx)
    removed = await issues.remove_labels(tx, issue.id)
    await _changed(tx, site, issue, removed=removed, action="label_cleared")


async def _changed(
    tx: Tx,
    site: Site,
    issue: IssueRow,
    *,
    added: Sequence[int] = (),
    removed: Sequence[int] = (),
    action: Literal["label_updated", "label_cleared"] = "label_updated",
) -> IssueRow | None:
    if not added and not removed:
        return None
    for label_id in removed:
        await site.note(tx, issue.id, comments.LABEL, "", Details(label=label_id, removed=True))
    for label_id in added:
        await site.note(tx, issue.id, comments.LABEL, "1", Details(label=label_id))
    await issues.change(tx, issue.id)
    return await site.announce(tx, issue.id, action)
