"""Labels of an organization, for the issues of all its repositories. Only its owners may change them."""

from collections.abc import Mapping
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_issues.labels.rules.repository import clean_fields
from ingot_issues.labels.store import organization as store
from ingot_issues.labels.store import repository as labels
from ingot_issues.labels.store.repository import LabelRow


async def create_label(tx: Tx, organization_id: int, fields: Mapping[str, Any]) -> LabelRow:
    """Create a label. ``fields`` must have ``name`` and ``color``. Raises Invalid."""
    values = clean_fields(fields)
    await _lock(tx, organization_id)
    return await store.add(tx, organization_id, values)


async def edit_label(tx: Tx, organization_id: int, label_id: int, fields: Mapping[str, Any]) -> LabelRow:
    """Change the given ``fields`` of a label. Raises NotFound, Invalid."""
    values = clean_fields(fields)
    await _lock(tx, organization_id)
    row = await store.get(tx, organization_id, label_id)
    if row is None:
        raise NotFound
    return await labels.change(tx, row.id, values) if values else row


async def _lock(tx: Tx, organization_id: int) -> None:
    """Block other writers of the organization's labels until the transaction ends."""
    await tx.advisory_lock(f"labels of {organization_id}")
