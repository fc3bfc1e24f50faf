"""SQL for hooks. A hook is only ever looked up together with its repository or organization."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, literal, or_, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.paging import Page
from ingot_chassis.tables import UtcDateTime, now
from ingot_hooks.store.tables import hook, sequence

HookRow = Row[Any]


class Owner(NamedTuple):
    """Whose hooks: one of the two is set."""

    repository_id: int | None = None
    organization_id: int | None = None


def _owned(owner: Owner) -> ColumnElement[bool]:
    if owner.repository_id is not None:
        return hook.c.repository_id == owner.repository_id
    return hook.c.organization_id == owner.organization_id


async def add(db: Executor, owner: Owner, **values: Any) -> HookRow:
    values |= owner._asdict() | {"created_at": now(), "updated_at": now()}
    return (await db.execute(insert(db, hook).values(values).returning(hook))).one()


async def get(db: Executor, owner: Owner, hook_id: int) -> HookRow | None:
    return (await db.execute(select(hook).where(_owned(owner), hook.c.id == hook_id))).first()


async def get_for_delivery(db: Executor, hook_id: int) -> HookRow | None:
    """Whoever owns it: for workers, which hold a delivery of that hook."""
    return (await db.execute(select(hook).where(hook.c.id == hook_id))).first()


async def list_page(db: Executor, owner: Owner, page: Page) -> tuple[list[HookRow], int]:
    """In the order in which they were made; and how many there are."""
    rows = await db.execute(
        select(hook).where(_owned(owner)).order_by(hook.c.id).limit(page.limit).offset(page.offset)
    )
    return list(rows.all()), await count(db, owner)


async def count(db: Executor, owner: Owner) -> int:
    counted = await db.execute(select(func.count()).select_from(hook).where(_owned(owner)))
    return int(counted.scalar_one())


# Built once: every event of every repository runs it.
_ACTIVE = Lookup(
    select(hook.c.id, hook.c.type, hook.c.settings, hook.c.events, hook.c.branch_filter, hook.c.endpoint)
    .where(
        hook.c.active,
        or_(
            hook.c.repository_id == bindparam("repository"),
            hook.c.organization_id == bindparam("organization"),
        ),
    )
    .order_by(hook.c.id)
)


async def list_active(db: Executor, repository_id: int, owner_id: int) -> list[HookRow]:
    """Active hooks that events of a repository concern: its own, and those of the owning organization.

    Of each as much as it takes to queue deliveries.
    """
    return list(await _ACTIVE.all(db, repository=repository_id, organization=owner_id))


async def change(db: Executor, hook_id: int, **values: Any) -> HookRow | None:
    """Change what people set; the new row."""
    statement = update(hook).where(hook.c.id == hook_id).values(updated_at=now(), **values)
    return (await db.execute(statement.returning(hook))).first()


async def mark_failing(db: Executor, hook_id: int) -> datetime | None:
    """Note a failure; when the first one after the last success was, None when the hook is gone."""
    statement = (
        update(hook)
        .where(hook.c.id == hook_id)
        .values(failing_since=func.coalesce(hook.c.failing_since, literal(now(), UtcDateTime)))
    )
    return (await db.execute(statement.returning(hook.c.failing_since))).scalar()


async def mark_healthy(db: Executor, hook_id: int) -> None:
    await db.execute(update(hook).where(hook.c.id == hook_id).values(failing_since=None))


async def get_many(db: Executor, hook_ids: Collection[int]) -> dict[int, HookRow]:
    """Whoever owns them, by id."""
    rows = await db.execute(select(hook).where(hook.c.id.in_(hook_ids)))
    return {row.id: row for row in rows}


async def doubt(db: Executor, *, repository_id: int | None = None, creator_id: int | None = None) -> int:
    """Note that those who answer for these hooks may have lost their right; how many hooks that concerns."""
    concerned: list[ColumnElement[bool]] = [hook.c.active]
    if repository_id is not None:
        concerned.append(hook.c.repository_id == repository_id)
    if creator_id is not None:
        concerned.append(hook.c.creator_id == creator_id)
    return (await db.execute(update(hook).where(*concerned).values(doubted_at=now()))).rowcount


async def list_doubted(db: Executor, limit: int) -> list[HookRow]:
    """Those doubted longest first."""
    rows = await db.execute(
        select(hook).where(hook.c.doubted_at.is_not(None)).order_by(hook.c.doubted_at).limit(limit)
    )
    return list(rows.all())


async def trust(db: Executor, doubted: HookRow) -> None:
    """End the doubt, unless there is a newer one or somebody else answers for the hook by now."""
    await db.execute(
        update(hook)
        .where(
            hook.c.id == doubted.id,
            hook.c.doubted_at == doubted.doubted_at,
            hook.c.creator_id == doubted.creator_id,
        )
        .values(doubted_at=None)
    )


async def switch_off(db: Executor, known: HookRow, reason: str) -> bool:
    """Switch a hook off unless somebody changed it since it was read; whether it is off now."""
    switched = await db.execute(
        update(hook)
        .where(hook.c.id == known.id, hook.c.updated_at == known.updated_at)
        .values(active=False, disabled_reason=reason, doubted_at=None, updated_at=now())
    )
    return switched.rowcount == 1


async def remove(db: Executor, owner: Owner, hook_id: int | None = None) -> list[int]:
    """Delete all hooks of an owner, or the one; the ids of those that were there."""
    condition = _owned(owner) if hook_id is None else _owned(owner) & (hook.c.id == hook_id)
    removed = (await db.execute(delete(hook).where(condition).returning(hook.c.id))).scalars().all()
    if removed:
        await db.execute(delete(sequence).where(sequence.c.hook_id.in_(removed)))
    return list(removed)


_next: dict[str, Any] = {}
"""The statement by dialect, built once."""


async def next_sequences(db: Executor, hook_ids: Sequence[int], repository_id: int) -> dict[int, int]:
    """The next number of each hook for that repository, counted from 1 and never given twice."""
    if db.dialect_name not in _next:
        counting = insert(db, sequence).on_conflict_do_update(
            index_elements=["hook_id", "repository_id"], set_={"last": sequence.c.last + 1}
        )
        _next[db.dialect_name] = counting.returning(sequence.c.hook_id, sequence.c.last)
    counted = await db.execute(
        _next[db.dialect_name],
        [{"hook_id": hook_id, "repository_id": repository_id, "last": 1} for hook_id in hook_ids],
    )
    return {row.hook_id: row.last for row in counted}
