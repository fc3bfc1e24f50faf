"""The client of a source, and the groups of its users, which ``mappings`` applies to teams."""

from datetime import timedelta
from typing import NamedTuple

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.operations import Detail
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.mappings import rules as mappings
from ingot_identity.scim.store import groups, users
from ingot_identity.sources.rules.configs import Config, GroupRules
from ingot_identity.sources.store.tables import SourceRow

MOST_APPLIED = 1_000
"""Maximum number of users whose groups one request applies. A task applies the others."""
PART = 100


class SourceClient(NamedTuple):
    """The client that changes users and groups of its source, with the objects that the rules need."""

    db: Database
    presenter: Presenter
    source: SourceRow
    config: Config
    actor: Actor
    names_reserved_for: timedelta


def actor_of(source: SourceRow, address: str = "") -> Actor:
    """Return the client of a source as the actor in the audit log. No account can have that name."""
    return Actor(login=f"({source.name})", via="scim", address=address)


def lock_name(source_id: int) -> str:
    """Return the name of the advisory lock that serializes changes by the clients of a source."""
    return f"scim source {source_id}"


async def apply_pending(client: SourceClient) -> None:
    """Apply the groups of users whose groups changed since the last time.

    Does nothing for a source whose groups come from sign-ins.
    """
    if client.config.groups_from != "scim":
        return
    source_at = client.source.updated_at
    for _ in range(0, MOST_APPLIED, PART):
        async with client.db.read() as db:
            rows = await users.list_pending(db, client.source.id, source_at, limit=PART)
        for row in rows:
            async with client.db.read() as db:
                names = await groups.list_names(db, client.source.id, row.account_id)
            await apply_groups(client, client.config, row.account_id, names)
            async with client.db.transaction() as tx:
                await users.mark_applied(tx, row, source_at)
        if len(rows) < PART:
            break


async def apply_groups(client: SourceClient, rules: GroupRules, account_id: int, names: list[str]) -> None:
    """Apply these groups to teams and rights, and record the changes in the audit log."""
    await _record(
        client,
        account_id,
        await mappings.apply_groups(client.db, client.presenter, client.source, rules, account_id, names),
    )


async def end_rights(client: SourceClient, account_id: int) -> None:
    """End the rights that groups gave, and record the changes in the audit log. A restriction stays."""
    changes = await mappings.end_rights(client.db, client.presenter, client.source, account_id)
    await _record(client, account_id, changes)


async def _record(client: SourceClient, account_id: int, changes: dict[str, list[str]]) -> None:
    if not changes:
        return
    async with client.db.transaction() as tx:
        row = await accounts.get(tx, account_id)
        details: dict[str, Detail] = {"source": client.source.name, **changes}
        actor = client.actor
        await add_entry(tx, actor, "source.apply_groups", f"user {row.login if row else account_id}", details)
