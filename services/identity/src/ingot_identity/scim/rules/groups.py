"""Groups of a source. Their members are users of the same source. ``mappings`` grants the teams."""

from collections.abc import Callable

import msgspec

from ingot_chassis.db.audit import add_entry
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.operations import Detail
from ingot_identity.scim.rules.bodies import Values, objects_of, require_text, text_of
from ingot_identity.scim.rules.errors import ScimError, Taken, VersionMismatch
from ingot_identity.scim.rules.ids import id_of
from ingot_identity.scim.rules.patches import MOST_VALUES
from ingot_identity.scim.rules.provisioning import SourceClient, apply_pending, lock_name
from ingot_identity.scim.store import groups as store
from ingot_identity.scim.store import users as user_rows
from ingot_identity.scim.store.tables import ScimGroupRow, ScimMemberRow

MOST_GROUPS = 10_000
"""Maximum number of groups of one source."""


class ScimGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a group that this server uses. ``members`` are ids of users."""

    display_name: str
    external_id: str
    members: frozenset[int]


def read_group(values: Values) -> ScimGroup:
    """Return the group in a body, or after a PATCH. Raises ScimError."""
    members = set[int]()
    for item in objects_of(values, "members", most=MOST_VALUES):
        value = item.get("value")
        identity_id = id_of(value)
        if not identity_id:
            raise ScimError("invalidValue", f"members: {str(value)[:100]!r} is no user of this source")
        members.add(identity_id)
    return ScimGroup(
        display_name=require_text(values, "displayName"),
        external_id=text_of(values, "externalId"),
        members=frozenset(members),
    )


def values_of(row: ScimGroupRow, members: list[ScimMemberRow]) -> Values:
    """Return the attributes of a group in the form that a PATCH changes."""
    return {
        "displayname": row.display_name,
        "externalid": row.external_id,
        "members": [{"value": str(member.identity_id)} for member in members],
    }


async def create(client: SourceClient, group: ScimGroup) -> ScimGroupRow:
    """Create a group. Raises ScimError, Taken, Conflict."""
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        if await store.id_by_name(tx, source.id, group.display_name) is not None:
            raise Taken("the source has a group with this displayName")
        if await store.count(tx, source.id) >= MOST_GROUPS:
            raise Conflict(f"the source has {MOST_GROUPS} groups, and may not have more")
        group_id = await store.add(tx, source.id, group.display_name, group.external_id)
        await _add_members(tx, source.id, group_id, group.members)
        details: dict[str, Detail] = {"source": source.name, "members": len(group.members)}
        await add_entry(tx, actor, "scim_group.create", f"group {group.display_name}", details)
        row = await _get(tx, source.id, group_id)
    await apply_pending(client)
    return row


async def replace(
    client: SourceClient,
    group_id: int,
    change: Callable[[ScimGroupRow, list[ScimMemberRow]], ScimGroup],
    *,
    version: int | None = None,
) -> ScimGroupRow:
    """Replace a group by ``change(row, members)``. Raises ScimError, Taken, NotFound.

    Raises VersionMismatch unless the group has ``version``.
    """
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        row = await _get(tx, source.id, group_id)
        if version is not None and row.version != version:
            raise VersionMismatch
        rows = list(await store.list_members(tx, [group_id]))
        before, group = {member.identity_id for member in rows}, change(row, rows)
        if await store.id_by_name(tx, source.id, group.display_name) not in (None, group_id):
            raise Taken("the source has another group with this displayName")
        await store.change(tx, group_id, group.display_name, group.external_id)
        added, removed = group.members - before, before - group.members
        await _add_members(tx, source.id, group_id, added)
        await store.remove_members(tx, group_id, removed)
        is_renamed = group.display_name != row.display_name
        await user_rows.mark_groups_changed(tx, removed | (group.members if is_renamed else set()))
        details: dict[str, Detail] = {
            "source": source.name,
            "members_added": [str(id_) for id_ in sorted(added)][:100],
            "members_removed": [str(id_) for id_ in sorted(removed)][:100],
        }
        await add_entry(tx, actor, "scim_group.edit", f"group {group.display_name}", details)
        changed = await _get(tx, source.id, group_id)
    await apply_pending(client)
    return changed


async def delete(client: SourceClient, group_id: int, *, version: int | None = None) -> None:
    """Delete a group. Raises NotFound, VersionMismatch."""
    source, actor = client.source, client.actor
    async with client.db.transaction() as tx:
        await tx.advisory_lock(lock_name(source.id))
        row = await _get(tx, source.id, group_id)
        if version is not None and row.version != version:
            raise VersionMismatch
        members = [member.identity_id for member in await store.list_members(tx, [group_id])]
        await store.remove(tx, group_id)
        await user_rows.mark_groups_changed(tx, members)
        await add_entry(tx, actor, "scim_group.delete", f"group {row.display_name}", {"source": source.name})
    await apply_pending(client)


async def _add_members(tx: Tx, source_id: int, group_id: int, members: frozenset[int]) -> None:
    """Add members to a group. Raises ScimError for a member who is not a user of the source."""
    unknown = members - await user_rows.list_among(tx, source_id, members)
    if unknown:
        raise ScimError("invalidValue", f"members: '{min(unknown)}' is no user of this source")
    await store.add_members(tx, group_id, members)
    await user_rows.mark_groups_changed(tx, members)


async def _get(tx: Tx, source_id: int, group_id: int) -> ScimGroupRow:
    row = await store.get(tx, source_id, group_id)
    if row is None:
        raise NotFound
    return row
