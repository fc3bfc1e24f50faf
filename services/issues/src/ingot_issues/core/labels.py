"""Labels of a repository, and labels on an issue."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues import Label, LabelChanged
from ingot_contracts.repos import Repository
from ingot_issues.core.events import Action, MakeEvent, announce, announce_in_repository
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import issue_rows
from ingot_issues.store import labels as store
from ingot_issues.store.comments import CommentKind, Details
from ingot_issues.store.issues import IssueDetails
from ingot_issues.store.labels import LabelRow

MOST_LABELS = 100
"""Labels that one request puts on an issue."""

_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


def clean_name(name: str) -> str:
    """``name`` without surrounding space. Raises Invalid."""
    name = name.strip()
    if not name:
        raise Invalid.field("name", "required", "is required")
    return name


def clean_color(color: str) -> str:
    """Six lower-case hex digits. Raises Invalid."""
    if not color:
        raise Invalid.field("color", "required", "is required")
    match = _COLOR.fullmatch(color)
    if match is None:
        raise Invalid.field("color", "format", f"{color!r} is not '#' and six hex digits")
    digits = match.group(1).lower()
    return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)


def ids_and_names(labels: Iterable[int | str]) -> tuple[list[int], list[str]]:
    """The ids and the names in a list of labels, each once. Raises Invalid for more than MOST_LABELS."""
    distinct = dict.fromkeys(labels)
    if len(distinct) > MOST_LABELS:
        raise Invalid.field("labels", "length", f"are more than {MOST_LABELS}")
    ids = [label for label in distinct if isinstance(label, int)]
    return ids, [label for label in distinct if isinstance(label, str)]


async def create_label(tx: Tx, context: RepositoryContext, fields: Mapping[str, Any]) -> Label:
    """``fields`` has ``name`` and ``color``, and may have the others of a label. Raises Invalid."""
    values = clean_fields(fields)
    await context.lock(tx)
    await _refuse_taken_name(tx, context, values["name"])
    row = await store.add(tx, context.repository.id, values)
    label = context.presenter.label(row, context.repository.full_name)
    await announce_in_repository(tx, context, _event("created", label))
    return label


async def edit_label(tx: Tx, context: RepositoryContext, label_id: int, fields: Mapping[str, Any]) -> Label:
    """Change what ``fields`` has. Raises NotFound or Invalid."""
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, label_id)
    if row is None:
        raise NotFound
    changed = {name: value for name, value in clean_fields(fields).items() if value != getattr(row, name)}
    if not changed:
        return context.presenter.label(row, context.repository.full_name)
    if changed.get("name", row.name).lower() != row.name.lower():
        await _refuse_taken_name(tx, context, changed["name"])
    row = await store.change(tx, label_id, changed)
    label = context.presenter.label(row, context.repository.full_name)
    await announce_in_repository(tx, context, _event("edited", label))
    return label


def clean_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a label as they are stored. Raises Invalid."""
    clean = {"name": clean_name, "color": clean_color}
    return {name: clean[name](value) if name in clean else value for name, value in fields.items()}


async def _refuse_taken_name(tx: Tx, context: RepositoryContext, name: str) -> None:
    """Raises Invalid when a label of the repository, which is locked, has that name in any case."""
    if await store.get_by_name(tx, context.repository.id, name) is not None:
        raise Invalid.field("name", "taken", "is the name of a label already")


async def delete_label(tx: Tx, context: RepositoryContext, label_id: int) -> None:
    """Delete a label, also from issues; nothing happens when there is none."""
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, label_id)
    if row is not None:
        await store.remove(tx, label_id)
        label = context.presenter.label(row, context.repository.full_name)
        await announce_in_repository(tx, context, _event("deleted", label))


def _event(action: Action, label: Label) -> MakeEvent:
    return lambda repository, sender: LabelChanged(
        action=action, label=label, repository=repository, sender=sender
    )


async def list_ids_to_put(tx: Tx, repository: Repository, ids: list[int], names: list[str]) -> list[int]:
    """The ids of the labels with these ids or names that one issue of the repository may have together."""
    rows = await store.list_by_ids_and_names(tx, repository.id, repository.owner.id, ids, names)
    return [row.id for row in _one_of_each_scope(rows)]


def _scope(label: LabelRow) -> str:
    """The name of an exclusive label up to its last slash; empty for a label that excludes none."""
    return label.name.rpartition("/")[0].lower() if label.exclusive else ""


def _one_of_each_scope(labels: Iterable[LabelRow]) -> list[LabelRow]:
    """Without the exclusive labels that a later one excludes."""
    return list({_scope(label) or label.id: label for label in labels}.values())


async def add_to_issue(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, ids: list[int], names: list[str]
) -> None:
    """Put labels on an issue; an exclusive one takes the others of its scope off.

    What is no label of the repository is left out.
    """
    await context.lock(tx, issue.id)
    repository = context.repository
    rows = await store.list_by_ids_and_names(tx, repository.id, repository.owner.id, ids, names)
    added = _one_of_each_scope(rows)
    scopes = {scope for row in added if (scope := _scope(row))}
    former = await store.list_on_issue(tx, issue.id) if scopes else []
    added_ids = [row.id for row in added]
    displaced_ids = [row.id for row in former if _scope(row) in scopes and row.id not in added_ids]
    removed = await store.take_off_issue(tx, issue.id, displaced_ids)
    await _record(
        tx, context, issue, added=await store.put_on_issue(tx, issue.id, added_ids), removed=removed
    )


async def replace_on_issue(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, ids: list[int], names: list[str]
) -> IssueDetails | None:
    """Leave exactly these labels on an issue; its details, if that changed it.

    What is no label of the repository is left out.
    """
    await context.lock(tx, issue.id)
    label_ids = set(await list_ids_to_put(tx, context.repository, ids, names))
    former_ids = {row.id for row in await store.list_on_issue(tx, issue.id)}
    removed = await store.take_off_issue(tx, issue.id, sorted(former_ids - label_ids))
    added = await store.put_on_issue(tx, issue.id, sorted(label_ids - former_ids))
    return await _record(tx, context, issue, added=added, removed=removed)


async def take_off_issue(tx: Tx, context: RepositoryContext, issue: IssueDetails, label_id: int) -> None:
    """Take one label off, if the issue has it. Raises Invalid when the repository has no such label."""
    await context.lock(tx, issue.id)
    repository = context.repository
    if await store.get_usable(tx, repository.id, repository.owner.id, label_id) is None:
        raise Invalid.field("id", "unknown", "is no label of the repository")
    await _record(tx, context, issue, removed=await store.take_off_issue(tx, issue.id, [label_id]))


async def clear_issue(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Take all labels off."""
    await context.lock(tx, issue.id)
    removed = await store.take_off_issue(tx, issue.id)
    await _record(tx, context, issue, removed=removed, action="label_cleared")


async def _record(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    *,
    added: Sequence[int] = (),
    removed: Sequence[int] = (),
    action: Literal["label_updated", "label_cleared"] = "label_updated",
) -> IssueDetails | None:
    """Write into the timeline which labels were added and removed, and announce it; nothing when there are none."""
    if not added and not removed:
        return None
    for label_id in removed:
        details = Details(label=label_id, removed=True)
        await context.add_to_timeline(tx, issue.id, CommentKind.LABEL, "", details)
    for label_id in added:
        await context.add_to_timeline(tx, issue.id, CommentKind.LABEL, "1", Details(label=label_id))
    await issue_rows.change(tx, issue.id)
    return await announce(tx, context, issue.id, action)
