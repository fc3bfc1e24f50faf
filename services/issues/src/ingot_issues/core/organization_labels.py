"""Labels of an organization, for the issues of all its repositories: its owners write them."""

from collections.abc import Mapping
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid, NotFound, Unauthenticated
from ingot_chassis.security.principal import ANONYMOUS, Membership, Principal
from ingot_contracts.identity import Account
from ingot_issues.core.labels import clean_fields
from ingot_issues.store import labels
from ingot_issues.store import organization_labels as store
from ingot_issues.store.labels import LabelRow


def may_read(principal: Principal, organization: Account, membership: Membership | None) -> bool:
    """Everybody who may know of the organization."""
    if organization.visibility == "public" or principal.admin:
        return True
    return principal.signed_in and (organization.visibility == "limited" or membership is not None)


def may_write(principal: Principal, membership: Membership | None) -> bool:
    """Its owners and site administrators; no token that is restricted to repositories."""
    is_owner = membership is not None and membership.owner
    return principal.restricted_to is None and (principal.admin or is_owner)


def require(
    principal: Principal, organization: Account, membership: Membership | None, *, writes: bool
) -> None:
    """Raises NotFound, Unauthenticated or Denied, in this order, for a caller who may not.

    A token that is restricted to repositories reads what nobody in particular may read.
    """
    reader, is_in = (principal, membership) if principal.restricted_to is None else (ANONYMOUS, None)
    if organization.kind != "organization" or not may_read(reader, organization, is_in):
        raise NotFound
    if writes and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if writes and not may_write(principal, membership):
        raise Denied("only owners of the organization may do that")


async def create_label(tx: Tx, organization_id: int, fields: Mapping[str, Any]) -> LabelRow:
    """``fields`` has ``name`` and ``color``, and may have the others of a label. Raises Invalid."""
    values = clean_fields(fields)
    await _lock(tx, organization_id)
    await _refuse_taken_name(tx, organization_id, values["name"])
    return await store.add(tx, organization_id, values)


async def edit_label(tx: Tx, organization_id: int, label_id: int, fields: Mapping[str, Any]) -> LabelRow:
    """Change what ``fields`` has. Raises NotFound or Invalid."""
    values = clean_fields(fields)
    await _lock(tx, organization_id)
    row = await store.get(tx, organization_id, label_id)
    if row is None:
        raise NotFound
    if values.get("name", row.name).lower() != row.name.lower():
        await _refuse_taken_name(tx, organization_id, values["name"])
    return await labels.change(tx, row.id, values) if values else row


async def _lock(tx: Tx, organization_id: int) -> None:
    """Make other writers of the organization's labels wait."""
    await tx.advisory_lock(f"labels of {organization_id}")


async def _refuse_taken_name(tx: Tx, organization_id: int, name: str) -> None:
    if await store.get_by_name(tx, organization_id, name) is not None:
        raise Invalid.field("name", "taken", "is the name of a label already")
