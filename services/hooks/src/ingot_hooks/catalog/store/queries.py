"""SQL for hooks. A request looks a hook up only together with its repository or organization."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    bindparam,
    delete,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of, json_rows, rows_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_first, fetch_page
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_hooks.catalog.store.tables import DEFAULT, SYSTEM, ContentType, HookType, hook, sequence


class RecipientRow(TypedRow):
    """The columns of a hook that decide if it gets an event, and in which form."""

    id: int
    repository_id: int | None
    organization_id: int | None
    type: HookType
    settings: str
    events: str
    branch_filter: str
    endpoint: str


class HookRow(RecipientRow):
    """A hook. ``creator_id`` is the responsible user; see ``tables.hook``."""

    name: str
    url: str
    content_type: ContentType
    sealed_secret: bytes | None
    sealed_former_secret: bytes | None
    former_until: datetime | None
    sealed_authorization: bytes | None
    active: bool
    creator_id: int
    doubted_at: datetime | None
    created_at: datetime
    updated_at: datetime
    failing_since: datetime | None
    disabled_reason: str


class SequenceRow(TypedRow):
    """The last sequence number of a hook for a repository."""

    hook_id: int
    repository_id: int
    last: int


class Owner(NamedTuple):
    """The owner of hooks: a repository, or an account (organization or user). At most one id is set.

    If both are None, the owner is the server.
    """

    repository_id: int | None = None
    organization_id: int | None = None


SYSTEM_HOOKS, DEFAULT_HOOKS = Owner(organization_id=SYSTEM), Owner(organization_id=DEFAULT)
SERVER_HOOKS = Owner()
"""The owner of all hooks of the server. A new hook belongs to ``SYSTEM_HOOKS`` or ``DEFAULT_HOOKS``."""


def _belongs_to(owner: Owner) -> ColumnElement[bool]:
    if owner.repository_id is not None:
        return hook.c.repository_id == owner.repository_id
    if owner.organization_id is not None:
        return hook.c.organization_id == owner.organization_id
    return hook.c.organization_id.in_((SYSTEM, DEFAULT))


async def add(db: Executor, owner: Owner, **values: Any) -> HookRow:
    values |= owner._asdict() | {"created_at": now(), "updated_at": now()}
    row = await fetch_first(db, insert(db, hook).values(values).returning(hook), HookRow)
    assert row is not None  # noqa: S101 - an INSERT without a conflict returns its row
    return row


async def get(db: Executor, owner: Owner, hook_id: int) -> HookRow | None:
    return await fetch_first(db, select(hook).where(_belongs_to(owner), hook.c.id == hook_id), HookRow)


_MANY = PreparedQuery(select(hook).where(any_of(hook.c.id, "hook_ids")), HookRow)


async def get_many(db: Executor, hook_ids: Collection[int]) -> dict[int, HookRow]:
    """Return hooks of any owner by id, for workers."""
    return {row.id: row for row in await _MANY.all(db, hook_ids=hook_ids)}


async def list_page(db: Executor, owner: Owner, page: Slice) -> tuple[Sequence[HookRow], int]:
    """List hooks in the order of their creation, and return their number."""
    return await fetch_page(db, select(hook).where(_belongs_to(owner)), page, HookRow, hook.c.id)


async def count(db: Executor, owner: Owner) -> int:
    return await fetch_count(db, select(hook.c.id).where(_belongs_to(owner)))


# Prepared: every event of every repository is in one.
_ACTIVE = PreparedQuery(
    select(*(hook.c[name] for name in RecipientRow.__annotations__))
    .where(
        hook.c.active,
        or_(any_of(hook.c.repository_id, "repositories"), any_of(hook.c.organization_id, "organizations")),
    )
    .order_by(hook.c.id),
    RecipientRow,
)


async def list_active(
    db: Executor, repository_ids: Collection[int], owner_ids: Collection[int]
) -> Sequence[RecipientRow]:
    """List the active hooks of these repositories and accounts, and of the server, ordered by id."""
    return await _ACTIVE.all(db, repositories=repository_ids, organizations=[*owner_ids, SYSTEM])


def _copying() -> PreparedWrite:
    columns = [column for column in hook.c if column.name != "id"]
    at = bindparam("at", type_=UtcDateTime)
    copied: dict[str, ColumnElement[Any]] = {
        "repository_id": bindparam("repository", type_=BigInteger),
        "organization_id": null(),
        "created_at": at,
        "updated_at": at,
    }
    values = [copied.get(column.name, column).label(f"new_{column.name}") for column in columns]
    is_default = hook.c.organization_id == literal_column(str(DEFAULT))
    defaults = select(*values).select_from(hook).where(is_default).order_by(hook.c.id)
    return PreparedWrite(postgresql.insert(hook).from_select([column.name for column in columns], defaults))


_COPY_DEFAULTS = _copying()


async def copy_defaults(db: Executor, repository_id: int) -> int:
    """Copy the default hooks to a new repository. Return their number."""
    return await _COPY_DEFAULTS.run(db, repository=repository_id, at=now())


async def change(db: Executor, hook_id: int, **values: Any) -> HookRow | None:
    """Change columns that users set. Return the new row, or None if the hook does not exist."""
    statement = update(hook).where(hook.c.id == hook_id).values(updated_at=now(), **values)
    return await fetch_first(db, statement.returning(hook), HookRow)


async def mark_failing(db: Executor, hook_id: int) -> datetime | None:
    """Record a failure. Return the time of the first consecutive failure; None for a deleted hook."""
    statement = (
        update(hook)
        .where(hook.c.id == hook_id)
        .values(failing_since=func.coalesce(hook.c.failing_since, literal(now(), UtcDateTime)))
    )
    return (await db.execute(statement.returning(hook.c.failing_since))).scalar()


async def mark_healthy(db: Executor, hook_id: int) -> None:
    await db.execute(update(hook).where(hook.c.id == hook_id).values(failing_since=None))


async def request_permission_check(
    db: Executor, *, repository_id: int | None = None, creator_id: int | None = None
) -> int:
    """Record that users responsible for these active hooks may have lost permission. Return their number."""
    conditions: list[ColumnElement[bool]] = [hook.c.active]
    if repository_id is not None:
        conditions.append(hook.c.repository_id == repository_id)
    if creator_id is not None:
        conditions.append(hook.c.creator_id == creator_id)
    return (await db.execute(update(hook).where(*conditions).values(doubted_at=now()))).rowcount


async def list_awaiting_permission_check(db: Executor, limit: int) -> Sequence[HookRow]:
    """List hooks that wait for a permission check, the longest wait first."""
    statement = select(hook).where(hook.c.doubted_at.is_not(None)).order_by(hook.c.doubted_at).limit(limit)
    return await fetch_all(db, statement, HookRow)


async def end_permission_check(db: Executor, checked: HookRow) -> None:
    """Record that the permission exists, unless a newer check is due or the responsible user changed."""
    await db.execute(
        update(hook)
        .where(
            hook.c.id == checked.id,
            hook.c.doubted_at == checked.doubted_at,
            hook.c.creator_id == checked.creator_id,
        )
        .values(doubted_at=None)
    )


async def deactivate(db: Executor, row: HookRow, reason: str) -> bool:
    """Switch a hook off. Return False if it was changed since ``row`` was read."""
    result = await db.execute(
        update(hook)
        .where(hook.c.id == row.id, hook.c.updated_at == row.updated_at)
        .values(active=False, disabled_reason=reason, doubted_at=None, updated_at=now())
    )
    return result.rowcount == 1


async def remove(db: Executor, owner: Owner, hook_id: int | None = None) -> list[int]:
    """Delete one hook of an owner, or all of them. Return the ids of deleted hooks."""
    condition = _belongs_to(owner) if hook_id is None else _belongs_to(owner) & (hook.c.id == hook_id)
    removed = (await db.execute(delete(hook).where(condition).returning(hook.c.id))).scalars().all()
    if removed:
        await db.execute(delete(sequence).where(sequence.c.hook_id.in_(removed)))
    return list(removed)


_LANES = rows_of("lanes", "hook_id", "repository_id", "more")
_ADVANCE = postgresql.insert(sequence).from_select(
    ["hook_id", "repository_id", "last"],
    # In the order in which other processes lock the same hooks.
    select(hook.c.id, _LANES.c.repository_id, _LANES.c.more)
    .where(hook.c.id == _LANES.c.hook_id)
    .order_by(hook.c.id, _LANES.c.repository_id),
)
_NEXT_SEQUENCES = PreparedWrite(
    _ADVANCE.on_conflict_do_update(
        index_elements=["hook_id", "repository_id"],
        set_={"last": sequence.c.last + _ADVANCE.excluded["last"]},
    ).returning(sequence.c.hook_id, sequence.c.repository_id, sequence.c.last)
)
"""The query for new numbers. SQLite supports it, too."""


async def next_sequences(db: Executor, counts: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Reserve ``counts`` new numbers for each hook and repository. Return the first number for each.

    No number is used twice. Numbers start at 1. Hooks that no longer exist are skipped.
    """
    lanes = json_rows([(*lane, count) for lane, count in counts.items()])
    rows = await _NEXT_SEQUENCES.all(db, SequenceRow, lanes=lanes)
    last = {(row.hook_id, row.repository_id): row.last for row in rows}
    return {lane: number - counts[lane] + 1 for lane, number in last.items()}
