"""SQL for the ledger of refs and the journal of pushes."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.change import Change
from ingot_chassis.database import Executor
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import BigId, now
from ingot_repos.store.tables import merged_pull, push, ref, repository

MANY = 500
"""Names in one statement."""

# What every push runs is built once: building a statement costs more than running it.
_REPOSITORY, _NUMBER, _PUSH = (bindparam(name, type_=BigId) for name in ("of", "asked", "entry"))
_LEDGER = select(ref.c.name, ref.c.oid).where(ref.c.repository_id == _REPOSITORY)
_LEDGER_OF_FEW = _LEDGER.where(ref.c.name.in_(bindparam("names", expanding=True)))
_ADVANCE = update(repository).where(
    repository.c.id == _REPOSITORY, repository.c.ref_version == bindparam("seen", type_=BigId)
)
_WRITTEN = ("repository_id", "user_id", "refs", "merged_pull", "confined", "lease_until", "created_at")
_ADD = Change(push.insert().values({name: bindparam(name) for name in _WRITTEN}).returning(push.c.id))
_ENTRY = Lookup(
    select(push, repository.c.ref_version, repository.c.default_branch, repository.c.empty)
    .join(repository, repository.c.id == push.c.repository_id)
    .where(push.c.id == _PUSH)
)
_REMOVE = Change(delete(push).where(push.c.id == _PUSH))
_POINT = postgresql.insert(ref).values({name: bindparam(name) for name in ("repository_id", "name", "oid")})
_SET = Change(
    _POINT.on_conflict_do_update(index_elements=["repository_id", "name"], set_={"oid": _POINT.excluded.oid})
)
_MERGED = Change(
    postgresql.insert(merged_pull)
    .values({name: bindparam(name) for name in ("repository_id", "number", "sha")})
    .on_conflict_do_nothing()
)
_MERGE = Lookup(
    select(
        select(merged_pull.c.sha)
        .where(merged_pull.c.repository_id == _REPOSITORY, merged_pull.c.number == _NUMBER)
        .scalar_subquery()
        .label("sha"),
        select(func.count(push.c.id))
        .where(push.c.repository_id == _REPOSITORY, push.c.merged_pull == _NUMBER)
        .scalar_subquery()
        .label("unsettled"),
    )
)


async def ledger(db: Executor, repository_id: int, names: Collection[str]) -> dict[str, str]:
    """Name -> object id of these refs, as they were last announced."""
    given: dict[str, Any] = {"of": repository_id}
    if len(names) <= MANY:
        return {row.name: row.oid for row in await db.execute(_LEDGER_OF_FEW, given | {"names": list(names)})}
    wanted = set(names)
    return {row.name: row.oid for row in await db.execute(_LEDGER, given) if row.name in wanted}


async def record(db: Executor, repository_id: int, tips: Mapping[str, str | None]) -> None:
    """Enter where refs point now; None takes a ref out."""
    gone = [name for name, oid in tips.items() if oid is None]
    for start in range(0, len(gone), MANY):
        part = gone[start : start + MANY]
        await db.execute(delete(ref).where(ref.c.repository_id == repository_id, ref.c.name.in_(part)))
    rows = [
        {"repository_id": repository_id, "name": name, "oid": oid}
        for name, oid in tips.items()
        if oid is not None
    ]
    await _SET.each(db, rows)


async def advance(db: Executor, repository_id: int, seen: int, **values: Any) -> bool:
    """Take the turn to change the ledger that was read at version ``seen``; False when another was faster."""
    given = {"of": repository_id, "seen": seen, "ref_version": seen + 1, "updated_at": now()}
    moved = await db.execute(_ADVANCE, given | values)
    return moved.rowcount == 1


async def add_push(
    db: Executor,
    *,
    repository_id: int,
    user_id: int,
    refs: Sequence[str],
    merged_pull: int,
    confined: bool,
    lease: datetime,
) -> int:
    """Write down that these refs are about to move; the id of the entry."""
    added: Any = await _ADD.first(
        db,
        repository_id=repository_id,
        user_id=user_id,
        refs=msgspec.json.encode(list(refs)).decode(),
        merged_pull=merged_pull,
        confined=confined,
        lease_until=lease,
        created_at=now(),
    )
    return int(added.id)


async def get_push(db: Executor, push_id: int) -> Any | None:
    """The entry, with what settling it must know of its repository."""
    return await _ENTRY.first(db, entry=push_id)


async def extend_push(db: Executor, push_id: int, lease: datetime) -> None:
    await db.execute(update(push).where(push.c.id == push_id).values(lease_until=lease))


async def left_behind(db: Executor, shard: str) -> list[Any]:
    """Entries of a shard whose process has not extended them: it is dead."""
    rows = await db.execute(
        select(push.c.id, push.c.lease_until)
        .join(repository, repository.c.id == push.c.repository_id)
        .where(push.c.lease_until < now(), repository.c.shard == shard)
        .order_by(push.c.id)
        .limit(100)
    )
    return list(rows.all())


async def take_over(db: Executor, push_id: int, seen: datetime, lease: datetime) -> bool:
    """Claim an entry of a dead process; False when another did."""
    taken = await db.execute(
        update(push).where(push.c.id == push_id, push.c.lease_until == seen).values(lease_until=lease)
    )
    return taken.rowcount == 1


async def merge_of(db: Executor, repository_id: int, number: int) -> tuple[str | None, bool]:
    """What a base branch became when this pull request was merged, None when it was not.

    Beside it whether a merge of it has begun whose outcome is not known yet.
    """
    found: Any = await _MERGE.first(db, of=repository_id, asked=number)
    return found.sha, found.unsettled > 0


async def record_merge(db: Executor, repository_id: int, number: int, sha: str) -> None:
    await _MERGED.run(db, repository_id=repository_id, number=number, sha=sha)


async def remove_push(db: Executor, push_id: int) -> bool:
    return await _REMOVE.run(db, entry=push_id) == 1
