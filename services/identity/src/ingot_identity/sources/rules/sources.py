"""Creation and changes of sources."""

import re
from collections.abc import Mapping
from typing import Any

from ingot_chassis.db.audit import OPERATOR, add_entry
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.security.sealing import Seal
from ingot_identity.sources.rules.configs import checked, origin_of, read_config, write_config
from ingot_identity.sources.store import sources as store
from ingot_identity.sources.store.tables import SourceRow

_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,38}[a-z0-9])?")


class Secrets:
    """Seals and opens the secrets that sources share with this server."""

    def __init__(self, sealing_key: str) -> None:
        """Load the key. Raises SettingsError."""
        self._seal = Seal(sealing_key, "INGOT_IDENTITY_SEALING_KEY")

    def close(self, secret: str) -> bytes | None:
        return self._seal.close(secret)

    def open(self, sealed: bytes | None) -> str:
        """Return the opened secret; empty if ``sealed`` is None. Raises Unreadable."""
        return self._seal.open(sealed)


async def create(tx: Tx, *, name: str, title: str, config: dict[str, Any], **columns: Any) -> SourceRow:
    """Create a source. Return its row. Raises Invalid."""
    name = name.lower()
    if not _NAME.fullmatch(name):
        raise Invalid.field("name", "charset", "may hold only letters, digits, '-' and '_'; at most 40")
    checked_config = checked(config)
    source_id = await store.add(
        tx,
        kind=str(checked_config.__struct_config__.tag),
        name=name,
        title=title or name,
        config=write_config(checked_config),
        **columns,
    )
    if source_id is None:
        raise Invalid.field("name", "taken", f"there is a source {name!r}")
    return await get_source(tx, source_id)


async def edit(tx: Tx, row: SourceRow, changes: dict[str, Any]) -> SourceRow:
    """Change only the columns in ``changes``. Return the new row. Raises Invalid, Conflict.

    ``config`` has only the changed fields. The origin of ids cannot change while accounts are linked: a new
    provider could assign these ids to other people.
    """
    changes = dict(changes)
    if "config" in changes:
        before = read_config(row.config)
        config = checked(changes["config"], before=before)
        is_other = origin_of(config) != origin_of(before)
        if is_other and (await store.count_identities(tx, [row.id])).get(row.id):
            fields = " and ".join(origin_of(before))
            raise Conflict(f"accounts are linked by this {fields}; add another source for new ones")
        changes["config"] = write_config(config)
    if "title" in changes:
        changes["title"] = changes["title"] or row.name
    if changes:
        await store.change(tx, row.id, **changes)
    return await get_source(tx, row.id)


async def delete(tx: Tx, row: SourceRow) -> None:
    """Delete a source. Raises Conflict while accounts are linked with it."""
    if (await store.count_identities(tx, [row.id])).get(row.id):
        raise Conflict("accounts are linked with this source; disable it, or unlink them first")
    await store.remove(tx, row.id)


def require_editable(row: SourceRow) -> None:
    """Raise Conflict for a source that the settings declare."""
    if row.from_settings:
        raise Conflict("this source is declared in INGOT_IDENTITY_SOURCES; change it there")


async def get_source(tx: Tx, source_id: int) -> SourceRow:
    """Return the source. Raises NotFound."""
    row = await store.get(tx, source_id)
    if row is None:
        raise NotFound
    return row


async def declare(tx: Tx, secrets: Secrets, declared: Mapping[str, Mapping[str, Any]]) -> None:
    """Create or update the sources in ``declared`` by name.

    Disable sources that were removed from the settings.

    Raises Invalid, Conflict.
    """
    await tx.advisory_lock("sources of the settings")  # replicas start at the same time
    for name, source in declared.items():
        columns = {
            "title": source.get("title", ""),
            "enabled": source.get("enabled", True),
            "sealed_secret": secrets.close(source.get("secret", "")),
        }
        row = await store.get_by_name(tx, name)
        if row is None:
            row = await create(tx, name=name, config=source["config"], from_settings=True, **columns)
            await add_entry(tx, OPERATOR, "source.create", f"source {row.name}", {"id": row.id})
            continue
        if not row.from_settings:
            raise Conflict(f"there is a source {name!r} already; rename one of them")
        config = checked(source["config"])
        if row.enabled == columns["enabled"] and (row.title, row.config, secrets.open(row.sealed_secret)) == (
            columns["title"] or row.name,
            write_config(config),
            source.get("secret", ""),
        ):
            continue
        await edit(tx, row, columns | {"config": source["config"]})
        await add_entry(tx, OPERATOR, "source.edit", f"source {row.name}", {"id": row.id})
    for row in await store.list_from_settings(tx):
        if row.name not in {name.lower() for name in declared} and row.enabled:
            await store.change(tx, row.id, enabled=False)
            await add_entry(tx, OPERATOR, "source.edit", f"source {row.name}", {"enabled": False})
