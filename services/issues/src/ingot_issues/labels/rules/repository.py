"""Labels of a repository."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues.events import LabelChanged
from ingot_contracts.issues.labels import Label
from ingot_contracts.repos.repositories import Repository
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import repository as store
from ingot_issues.labels.store.repository import LabelRow
from ingot_issues.records.rules.announcements import Action, MakeEvent, announce_in_repository
from ingot_issues.records.rules.context import RepositoryContext

MOST_LABELS = 100
"""Maximum number of labels of an issue in one request."""

_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


def clean_name(name: str) -> str:
    """Return ``name`` without leading and trailing spaces. Raises Invalid."""
    name = name.strip()
    if not name:
        raise Invalid.field("name", "required", "is required")
    return name


def clean_color(color: str) -> str:
    """Return the color as six lower-case hexadecimal digits. Raises Invalid."""
    if not color:
        raise Invalid.field("color", "required", "is required")
    match = _COLOR.fullmatch(color)
    if match is None:
        raise Invalid.field("color", "format", f"{color!r} is not '#' and six hex digits")
    digits = match.group(1).lower()
    return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)


def ids_and_names(labels: Iterable[int | str]) -> tuple[list[int], list[str]]:
    """Return the distinct ids and names in a list of labels. Raises Invalid for more than MOST_LABELS."""
    distinct = dict.fromkeys(labels)
    if len(distinct) > MOST_LABELS:
        raise Invalid.field("labels", "length", f"are more than {MOST_LABELS}")
    ids = [label for label in distinct if isinstance(label, int)]
    return ids, [label for label in distinct if isinstance(label, str)]


async def create_label(tx: Tx, context: RepositoryContext, fields: Mapping[str, Any]) -> Label:
    """Create a label. ``fields`` must have ``name`` and ``color``. Raises Invalid.

    Several labels may have the same name.
    """
    values = clean_fields(fields)
    await context.lock(tx)
    row = await store.add(tx, context.repository.id, values)
    label = label_view(context.presenter, row, context.repository.full_name)
    await announce_in_repository(tx, context, _event("created", label))
    return label


async def edit_label(tx: Tx, context: RepositoryContext, label_id: int, fields: Mapping[str, Any]) -> Label:
    """Change the given ``fields`` of a label. Raises NotFound or Invalid."""
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, label_id)
    if row is None:
        raise NotFound
    changed = {name: value for name, value in clean_fields(fields).items() if value != getattr(row, name)}
    if not changed:
        return label_view(context.presenter, row, context.repository.full_name)
    row = await store.change(tx, label_id, changed)
    label = label_view(context.presenter, row, context.repository.full_name)
    await announce_in_repository(tx, context, _event("edited", label))
    return label


def clean_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a label in their stored form. Raises Invalid."""
    clean = {"name": clean_name, "color": clean_color}
    return {name: clean[name](value) if name in clean else value for name, value in fields.items()}


async def delete_label(tx: Tx, context: RepositoryContext, label_id: int) -> None:
    """Delete a label, and remove it from issues. A missing label is ignored."""
    await context.lock(tx)
    row = await store.get(tx, context.repository.id, label_id)
    if row is not None:
        await store.remove(tx, label_id)
        label = label_view(context.presenter, row, context.repository.full_name)
        await announce_in_repository(tx, context, _event("deleted", label))


def _event(action: Action, label: Label) -> MakeEvent:
    return lambda repository, sender: LabelChanged(
        action=action, label=label, repository=repository, sender=sender
    )


async def list_ids_to_put(tx: Tx, repository: Repository, ids: list[int], names: list[str]) -> list[int]:
    """Return the ids of the labels to add to an issue, by ``ids`` or ``names``.

    Labels that the repository does not have are skipped. Of exclusive labels with one scope, the last stays.
    """
    rows = await store.list_by_ids_and_names(tx, repository.id, repository.owner.id, ids, names)
    return [row.id for row in one_of_each_scope(rows)]


def scope_of(label: LabelRow) -> str:
    """Return the scope of an exclusive label: its name up to the last slash; empty for other labels."""
    return label.name.rpartition("/")[0].lower() if label.exclusive else ""


def one_of_each_scope(labels: Iterable[LabelRow]) -> list[LabelRow]:
    """Return the labels. Of exclusive labels with one scope, only the last is returned."""
    return list({scope_of(label) or label.id: label for label in labels}.values())
