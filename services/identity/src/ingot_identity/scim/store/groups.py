"""SQL for the groups of a source."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, false, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.scim.store.tables import (
    ScimGroupRow,
    ScimMemberRow,
    scim_group,
    scim_member,
    scim_user,
)
from ingot_identity.sources.store.tables import external_identity

FILTERS = ("displayname", "externalid", "id", "members.value")


async def get(db: Executor, source_id: int, group_id: int) -> ScimGroupRow | None:
    statement = select(scim_group).where(scim_group.c.source_id == source_id, scim_group.c.id == group_id)
    return await fetch_first(db, statement, ScimGroupRow)


async def list_page(
    db: Executor, source_id: int, page: Slice, conditions: Collection[tuple[str, str | bool]]
) -> tuple[Sequence[ScimGroupRow], int]:
    """Return a page of groups for which all ``conditions`` of ``FILTERS`` hold, oldest first."""
    statement = select(scim_group).where(
        scim_group.c.source_id == source_id, *(_condition(name, value) for name, value in conditions)
    )
    return await fetch_page(db, statement, page, ScimGroupRow, scim_group.c.id)


def _condition(name: str, value: str | bool) -> ColumnElement[bool]:
    match name, value:
        case "displayname", str():
            return scim_group.c.lower_display_name == value.lower()
        case "externalid", str():
            return scim_group.c.external_id == value
        case "id", str():
            return scim_group.c.id == int(value)
        case "members.value", str():
            return exists().where(
                scim_member.c.group_id == scim_group.c.id, scim_member.c.identity_id == int(value)
            )
        case _:
            return false()


async def id_by_name(db: Executor, source_id: int, display_name: str) -> int | None:
    """Return the id of the source's group with that name, in any letter case."""
    statement = select(scim_group.c.id).where(
        scim_group.c.source_id == source_id, scim_group.c.lower_display_name == display_name.lower()
    )
    return (await db.execute(statement)).scalar()


async def count(db: Executor, source_id: int) -> int:
    statement = select(func.count()).select_from(scim_group).where(scim_group.c.source_id == source_id)
    return int((await db.execute(statement)).scalar_one())


async def add(db: Executor, source_id: int, display_name: str, external_id: str) -> int:
    """Insert a group. Return its id."""
    values = {
        "source_id": source_id,
        "display_name": display_name,
        "lower_display_name": display_name.lower(),
        "external_id": external_id,
        "created_at": now(),
        "updated_at": now(),
    }
    statement = insert(db, scim_group).values(values).returning(scim_group.c.id)
    return int((await db.execute(statement)).scalar_one())


async def change(db: Executor, group_id: int, display_name: str, external_id: str) -> None:
    values: dict[str, Any] = {
        "display_name": display_name,
        "lower_display_name": display_name.lower(),
        "external_id": external_id,
        "version": scim_group.c.version + 1,
        "updated_at": now(),
    }
    await db.execute(update(scim_group).where(scim_group.c.id == group_id).values(values))


async def remove(db: Executor, group_id: int) -> None:
    await db.execute(delete(scim_group).where(scim_group.c.id == group_id))


async def list_members(db: Executor, group_ids: Collection[int]) -> Sequence[ScimMemberRow]:
    """Return the members of these groups."""
    statement = (
        select(scim_member, scim_user.c.user_name)
        .join(scim_user, scim_user.c.identity_id == scim_member.c.identity_id)
        .where(scim_member.c.group_id.in_(group_ids))
        .order_by(scim_member.c.group_id, scim_member.c.identity_id)
    )
    return await fetch_all(db, statement, ScimMemberRow)


async def add_members(db: Executor, group_id: int, identity_ids: Collection[int]) -> None:
    rows = [{"group_id": group_id, "identity_id": id_} for id_ in sorted(identity_ids)]
    if rows:
        await db.execute(insert(db, scim_member).on_conflict_do_nothing(), rows)


async def remove_members(db: Executor, group_id: int, identity_ids: Collection[int]) -> None:
    await db.execute(
        delete(scim_member).where(
            scim_member.c.group_id == group_id, scim_member.c.identity_id.in_(identity_ids)
        )
    )


async def list_names(db: Executor, source_id: int, account_id: int) -> list[str]:
    """Return the names of the source's groups that the account is in."""
    statement = (
        select(scim_group.c.display_name)
        .join(scim_member, scim_member.c.group_id == scim_group.c.id)
        .join(external_identity, external_identity.c.id == scim_member.c.identity_id)
        .where(external_identity.c.account_id == account_id, scim_group.c.source_id == source_id)
    )
    return list((await db.execute(statement)).scalars())
