"""SQL for the ledger of refs and the journal of pushes."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, delete, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.tables import now
from ingot_repos.store.tables import merged_pull, push, ref, repository

MANY = 500
"""Names in one statement."""


async def ledger(db: Executor, repository_id: int, names: Collection[str]) -> dict[str, str]:
    """Name -> object id of these refs, as they were last announced."""
    statement = select(ref.c.name, ref.c.oid).where(ref.c.repository_id == repository_id)
    if len(names) <= MANY:
        statement = statement.where(ref.c.name.in_(names))
    wanted = set(names)
    return {row.name: row.oid for row in await db.execute(statement) if row.name in wanted}


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
    for start in range(0, len(rows), MANY):
        statement = insert(db, ref).values(rows[start : start + MANY])
        await db.execute(
            statement.on_conflict_do_update(
                index_elements=["repository_id", "name"], set_={"oid": statement.excluded.oid}
            )
        )


async def advance(db: Executor, repository_id: int, seen: int, **values: Any) -> bool:
    """Take the turn to change the ledger that was read at version ``seen``; False when another was faster."""
    moved = await db.execute(
        update(repository)
        .where(repository.c.id == repository_id, repository.c.ref_version == seen)
        .values(ref_version=seen + 1, updated_at=now(), **values)
    )
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
    added = await db.execute(
        push.insert()
        .values(
            repository_id=repository_id,
            user_id=user_id,
            refs=msgspec.json.encode(list(refs)).decode(),
            merged_pull=merged_pull,
            confined=confined,
            lease_until=lease,
            created_at=now(),
        )
        .returning(push.c.id)
    )
    return int(added.scalar_one())


async def get_push(db: Executor, push_id: int) -> Row[Any] | None:
    return (await db.execute(select(push).where(push.c.id == push_id))).first()


async def extend_push(db: Executor, push_id: int, lease: datetime) -> None:
    await db.execute(update(push).where(push.c.id == push_id).values(lease_until=lease))


async def left_behind(db: Executor, shard: str) -> list[Row[Any]]:
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


async def merge_of(db: Executor, repository_id: int, number: int) -> str | None:
    """What a base branch became when this pull request was merged; None when it was not."""
    found = await db.execute(
        select(merged_pull.c.sha).where(
            merged_pull.c.repository_id == repository_id, merged_pull.c.number == number
        )
    )
    return found.scalar()


async def record_merge(db: Executor, repository_id: int, number: int, sha: str) -> None:
    statement = insert(db, merged_pull).values(repository_id=repository_id, number=number, sha=sha)
    await db.execute(statement.on_conflict_do_nothing())


async def unsettled_merge(db: Executor, repository_id: int, number: int) -> bool:
    """Whether a merge of this pull request has begun and its outcome is not known yet."""
    found = await db.execute(
        select(push.c.id).where(push.c.repository_id == repository_id, push.c.merged_pull == number).limit(1)
    )
    return found.first() is not None


async def remove_push(db: Executor, push_id: int) -> bool:
    return (await db.execute(delete(push).where(push.c.id == push_id))).rowcount == 1
