"""SQL for the users of a source."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, or_, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import account
from ingot_identity.scim.store.tables import ScimUserRow, scim_user
from ingot_identity.sources.store.tables import external_identity


class PendingRow(TypedRow):
    """A user whose groups have changed and are not applied yet."""

    identity_id: int
    account_id: int
    groups_version: int


def _users(source_id: int) -> Select[Any]:
    return (
        select(
            scim_user,
            external_identity.c.account_id,
            external_identity.c.subject.label("external_id"),
            account.c.login,
            account.c.active,
        )
        .join(external_identity, external_identity.c.id == scim_user.c.identity_id)
        .join(account, account.c.id == external_identity.c.account_id)
        .where(scim_user.c.source_id == source_id)
    )


async def get(db: Executor, source_id: int, identity_id: int) -> ScimUserRow | None:
    statement = _users(source_id).where(scim_user.c.identity_id == identity_id)
    return await fetch_first(db, statement, ScimUserRow)


async def list_page(
    db: Executor, source_id: int, page: Slice, conditions: Collection[tuple[str, str | bool]]
) -> tuple[Sequence[ScimUserRow], int]:
    """Return a page of users for which all ``conditions`` of ``FILTERS`` hold, oldest first."""
    statement = _users(source_id).where(*(_condition(name, value) for name, value in conditions))
    return await fetch_page(db, statement, page, ScimUserRow, scim_user.c.identity_id)


FILTERS = ("active", "displayname", "emails.value", "externalid", "id", "username")


_TEXTS: dict[str, tuple[ColumnElement[str], bool]] = {
    "displayname": (scim_user.c.display_name, True),
    "emails.value": (scim_user.c.lower_email, False),
    "externalid": (external_identity.c.subject, True),
    "username": (scim_user.c.lower_user_name, False),
}
"""Text columns that lists can be filtered by, and whether the comparison is case-sensitive."""


def _condition(name: str, value: str | bool) -> ColumnElement[bool]:
    if isinstance(value, bool):
        return account.c.active.is_(value)
    if name == "id":
        return scim_user.c.identity_id == int(value)
    column, is_exact = _TEXTS[name]
    return column == (value if is_exact else value.lower())


async def id_by_user_name(db: Executor, source_id: int, user_name: str) -> int | None:
    """Return the id of the source's user with that name, in any letter case."""
    statement = select(scim_user.c.identity_id).where(
        scim_user.c.source_id == source_id, scim_user.c.lower_user_name == user_name.lower()
    )
    return (await db.execute(statement)).scalar()


async def list_among(db: Executor, source_id: int, identity_ids: Collection[int]) -> set[int]:
    """Return the elements of ``identity_ids`` that are users of the source."""
    statement = select(scim_user.c.identity_id).where(
        scim_user.c.source_id == source_id, scim_user.c.identity_id.in_(identity_ids)
    )
    return set((await db.execute(statement)).scalars())


async def add(db: Executor, identity_id: int, source_id: int, **values: Any) -> bool:
    """Insert a user. Return False if the user exists."""
    columns = {"identity_id": identity_id, "source_id": source_id, "created_at": now(), "updated_at": now()}
    statement = insert(db, scim_user).values(columns | _with_lower(values)).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1


async def change(db: Executor, identity_id: int, **values: Any) -> None:
    statement = update(scim_user).where(scim_user.c.identity_id == identity_id)
    columns = {"updated_at": now(), "version": scim_user.c.version + 1}
    await db.execute(statement.values(columns | _with_lower(values)))


def _with_lower(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, **{f"lower_{name}": values[name].lower() for name in ("user_name", "email")}}


async def remove(db: Executor, identity_id: int) -> None:
    await db.execute(delete(scim_user).where(scim_user.c.identity_id == identity_id))


async def mark_groups_changed(db: Executor, identity_ids: Collection[int]) -> None:
    statement = update(scim_user).where(scim_user.c.identity_id.in_(identity_ids))
    await db.execute(statement.values(groups_version=scim_user.c.groups_version + 1))


async def list_pending(
    db: Executor, source_id: int, source_at: datetime, *, limit: int
) -> Sequence[PendingRow]:
    """Return users whose groups, or whose source, changed since the groups were applied."""
    statement = (
        select(scim_user.c.identity_id, external_identity.c.account_id, scim_user.c.groups_version)
        .join(external_identity, external_identity.c.id == scim_user.c.identity_id)
        .where(
            scim_user.c.source_id == source_id,
            or_(
                scim_user.c.groups_version != scim_user.c.applied_version,
                scim_user.c.applied_source_at.is_(None),
                scim_user.c.applied_source_at != source_at,
            ),
        )
        .order_by(scim_user.c.identity_id)
        .limit(limit)
    )
    return await fetch_all(db, statement, PendingRow)


async def mark_applied(db: Executor, row: PendingRow, source_at: datetime) -> None:
    """Record that this version of the groups was applied, by the mapping of the source at ``source_at``."""
    statement = update(scim_user).where(scim_user.c.identity_id == row.identity_id)
    await db.execute(statement.values(applied_version=row.groups_version, applied_source_at=source_at))
