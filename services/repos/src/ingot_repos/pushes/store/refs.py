"""SQL for the ledger of refs and the journal of pushes."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import and_, bindparam, delete, exists, func, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store import columns as repository_columns
from ingot_repos.catalog.store import repositories, upkeep
from ingot_repos.catalog.store.tables import ref, repository
from ingot_repos.placement.store.tables import push
from ingot_repos.pushes.store.tables import merged_pull, push_mirror

MANY = 500
"""Maximum number of names in one SQL statement."""
FEW = 10
"""Up to this number of names, the ledger is read in one statement with the journal entry."""

# Statements of every push are built once: building one costs more than running it.
_REPOSITORY, _NUMBER, _PUSH = (bindparam(name, type_=BigId) for name in ("of", "pull_number", "push_id"))


LARGE_PUSH = 10_000
"""Total characters of ref names from which a push counts as large."""


class PushRow(TypedRow):
    """A journal entry, with the columns of its repository that settling needs.

    ``refs`` and ``options`` are JSON lists of texts. ``is_followed``: the repository has push mirrors that
    follow every push.
    """

    id: int
    repository_id: int
    user_id: int
    refs: str
    merged_pull: int
    confined: bool
    options: str
    moves_refs: bool
    imported: bool
    lease_until: datetime
    created_at: datetime
    ref_version: int
    default_branch: str
    empty: bool
    language: str
    licenses: str | None
    wiki_of: int | None
    is_followed: bool


class _PushTipRow(PushRow):
    """A journal entry joined with one ref of its ledger, if there is one."""

    tip_name: str | None
    tip_oid: str | None


class ExpiredPushRow(TypedRow):
    id: int
    lease_until: datetime


class _AddedRow(TypedRow):
    id: int


class _LedgerRow(TypedRow):
    name: str
    oid: str


class _MergeRow(TypedRow):
    sha: str | None
    unsettled: int


_LEDGER = select(ref.c.name, ref.c.oid).where(ref.c.repository_id == _REPOSITORY)
_LEDGER_OF_FEW = PreparedQuery(_LEDGER.where(any_of(ref.c.name, "names")), _LedgerRow)


async def ledger(db: Executor, repository_id: int, names: Collection[str]) -> dict[str, str]:
    """Return object ids of these refs by name, as they were last announced."""
    values: dict[str, Any] = {"of": repository_id}
    if len(names) <= MANY:
        rows = await _LEDGER_OF_FEW.all(db, **values, names=list(names))
        return {row.name: row.oid for row in rows}
    all_names = set(names)
    rows = await fetch_all(db, _LEDGER, _LedgerRow, **values)
    return {row.name: row.oid for row in rows if row.name in all_names}


_POINT = postgresql.insert(ref).values({name: bindparam(name) for name in ("repository_id", "name", "oid")})
_SET = PreparedWrite(
    _POINT.on_conflict_do_update(index_elements=["repository_id", "name"], set_={"oid": _POINT.excluded.oid})
)


async def record(
    db: Executor, repository_id: int, tips: Mapping[str, str | None], *, counts: bool = True
) -> None:
    """Store the targets of refs; None removes a ref. With ``counts``, recount the branches."""
    deleted = [name for name, oid in tips.items() if oid is None]
    for start in range(0, len(deleted), MANY):
        part = deleted[start : start + MANY]
        await db.execute(delete(ref).where(ref.c.repository_id == repository_id, ref.c.name.in_(part)))
    rows = [
        {"repository_id": repository_id, "name": name, "oid": oid}
        for name, oid in tips.items()
        if oid is not None
    ]
    await _SET.each(db, rows)
    if counts:
        await repository_columns.count_branches(db, repository_id)


@cache
def _advance(names: tuple[str, ...]) -> PreparedWrite:
    """Prepare the write for a combination of columns. Pushes use few of the possible combinations."""
    statement = update(repository).where(
        repository.c.id == _REPOSITORY, repository.c.ref_version == bindparam("read_version", type_=BigId)
    )
    return PreparedWrite(
        statement.values({name: bindparam(f"new_{name}", type_=repository.c[name].type) for name in names})
    )


async def advance(tx: Executor, repository_id: int, version: int, *, moved: int, **values: Any) -> bool:
    """Increase the version of the ledger after ``moved`` refs have moved, and set columns of the repository.

    Return False if the ledger is no longer at ``version``.
    """
    pushes = upkeep.WRITES if moved > upkeep.MANY_REFS else 1
    values |= {"ref_version": version + pushes, "updated_at": now()}
    bound = {f"new_{name}": value for name, value in values.items()}
    count = await _advance(tuple(sorted(values))).run(tx, of=repository_id, read_version=version, **bound)
    return count == 1


_ADDED_COLUMNS = (
    "repository_id",
    "user_id",
    "refs",
    "merged_pull",
    "confined",
    "options",
    "moves_refs",
    "imported",
    "lease_until",
    "created_at",
)
_ADD = PreparedWrite(
    push.insert().values({name: bindparam(name) for name in _ADDED_COLUMNS}).returning(push.c.id)
)
_ADDED_VALUES = {name: bindparam(name, type_=push.c[name].type) for name in _ADDED_COLUMNS}
# Locked for share: who is about to move the repository waits, or has done so before.
_ADD_ON_SHARD = PreparedWrite(
    push.insert()
    .from_select(
        _ADDED_COLUMNS,
        select(*(value.label(name) for name, value in _ADDED_VALUES.items()))
        .where(
            repository.c.id == _ADDED_VALUES["repository_id"],
            repository.c.shard == bindparam("shard"),
            repositories.stays(_ADDED_VALUES["created_at"]),
        )
        .with_for_update(read=True),
    )
    .returning(push.c.id)
)


async def add_push(
    db: Executor,
    *,
    repository_id: int,
    user_id: int,
    refs: Sequence[str],
    merged_pull: int,
    restricted: bool,
    options: Sequence[str] = (),
    moves_refs: bool = True,
    imported: bool = False,
    lease: datetime,
    shard: str = "",
) -> int:
    """Insert a journal entry for refs that are about to move. Return its id.

    With ``shard``, insert it only if the repository is on that shard and no job moves it. Return 0 otherwise.
    """
    values = {
        "repository_id": repository_id,
        "user_id": user_id,
        "refs": msgspec.json.encode(list(refs)).decode(),
        "merged_pull": merged_pull,
        "confined": restricted,
        "options": msgspec.json.encode(options).decode(),
        "moves_refs": moves_refs,
        "imported": imported,
        "lease_until": lease,
        "created_at": now(),
    }
    if shard:
        added = await _ADD_ON_SHARD.first(db, _AddedRow, **values, shard=shard)
        return 0 if added is None else added.id
    added = await _ADD.first(db, _AddedRow, **values)
    if added is None:
        raise RuntimeError("the database returned no id of the journal entry")
    return added.id


_PUSH_OF_REPOSITORY = (
    select(
        push,
        repository.c.ref_version,
        repository.c.default_branch,
        repository.c.empty,
        repository.c.language,
        repository.c.licenses,
        repository.c.wiki_of,
        exists()
        .where(push_mirror.c.repository_id == push.c.repository_id, push_mirror.c.sync_on_commit.is_(True))
        .label("is_followed"),
    )
    .join(repository, repository.c.id == push.c.repository_id)
    .where(push.c.id == _PUSH)
)
_PUSH_BY_ID = PreparedQuery(_PUSH_OF_REPOSITORY, PushRow)
_PUSH_AND_LEDGER = PreparedQuery(
    _PUSH_OF_REPOSITORY.add_columns(ref.c.name.label("tip_name"), ref.c.oid.label("tip_oid")).outerjoin(
        ref, and_(ref.c.repository_id == push.c.repository_id, any_of(ref.c.name, "names"))
    ),
    _PushTipRow,
)


async def mark_filled(tx: Executor, repository_id: int, default_branch: str) -> None:
    """Record that a repository has its first branch or tag, before the whole push is read."""
    await tx.execute(
        update(repository)
        .where(repository.c.id == repository_id)
        .values(empty=False, default_branch=default_branch)
    )


async def get_push(db: Executor, push_id: int) -> PushRow | None:
    return await _PUSH_BY_ID.first(db, push_id=push_id)


async def get_push_and_ledger(
    db: Executor, push_id: int, names: Sequence[str] | None = None
) -> tuple[PushRow | None, Sequence[str], dict[str, str]]:
    """Return a journal entry, the names of its refs, and their rows of ``ledger``.

    The entry is None if it was removed. For few ``names`` this is one statement.
    """
    if names is not None and len(names) <= FEW:
        rows = await _PUSH_AND_LEDGER.all(db, push_id=push_id, names=names)
        tips = {row.tip_name: row.tip_oid for row in rows if row.tip_name and row.tip_oid}
        return rows[0] if rows else None, names, tips
    entry = await get_push(db, push_id)
    if entry is None:
        return None, [], {}
    names = msgspec.json.decode(entry.refs, type=list[str])
    return entry, names, await ledger(db, entry.repository_id, names) if names else {}


async def has_large_push(db: Executor, repository_id: int) -> bool:
    """True if the journal has a push with more than LARGE_PUSH characters of ref names."""
    large = exists().where(push.c.repository_id == repository_id, func.length(push.c.refs) > LARGE_PUSH)
    return bool((await db.execute(select(large))).scalar())


async def is_only_push(db: Executor, repository_id: int, push_id: int) -> bool:
    """True if the journal has no entry of the repository except ``push_id``."""
    other = exists().where(push.c.repository_id == repository_id, push.c.id != push_id)
    return not (await db.execute(select(other))).scalar()


async def extend_push(db: Executor, push_id: int, lease: datetime) -> None:
    await db.execute(update(push).where(push.c.id == push_id).values(lease_until=lease))


async def list_expired(db: Executor, shard: str) -> Sequence[ExpiredPushRow]:
    """List at most 100 entries of a shard with an expired lease. Their processes are probably dead."""
    statement = (
        select(push.c.id, push.c.lease_until)
        .join(repository, repository.c.id == push.c.repository_id)
        .where(push.c.lease_until < now(), repository.c.shard == shard)
        .order_by(push.c.id)
        .limit(100)
    )
    return await fetch_all(db, statement, ExpiredPushRow)


async def take_over(db: Executor, push_id: int, expired: datetime, lease: datetime) -> bool:
    """Take over the expired lease of an entry. Return False if another process has taken it over."""
    taken = await db.execute(
        update(push).where(push.c.id == push_id, push.c.lease_until == expired).values(lease_until=lease)
    )
    return taken.rowcount == 1


_MERGE = PreparedQuery(
    select(
        select(merged_pull.c.sha)
        .where(merged_pull.c.repository_id == _REPOSITORY, merged_pull.c.number == _NUMBER)
        .scalar_subquery()
        .label("sha"),
        select(func.count(push.c.id))
        .where(push.c.repository_id == _REPOSITORY, push.c.merged_pull == _NUMBER)
        .scalar_subquery()
        .label("unsettled"),
    ),
    _MergeRow,
)


async def merge_of(db: Executor, repository_id: int, number: int) -> tuple[str | None, bool]:
    """Return the commit that merged a pull request, or None, and if a merge is still unsettled."""
    row = await _MERGE.first(db, of=repository_id, pull_number=number)
    return (row.sha, row.unsettled > 0) if row is not None else (None, False)


_MERGED = PreparedWrite(
    postgresql.insert(merged_pull)
    .values({name: bindparam(name) for name in ("repository_id", "number", "sha")})
    .on_conflict_do_nothing()
)


async def record_merge(db: Executor, repository_id: int, number: int, sha: str) -> None:
    await _MERGED.run(db, repository_id=repository_id, number=number, sha=sha)


_REMOVE = PreparedWrite(delete(push).where(push.c.id == _PUSH))


async def remove_push(db: Executor, push_id: int) -> bool:
    """Remove a journal entry. Return True if it existed."""
    return await _REMOVE.run(db, push_id=push_id) == 1


async def ledgers(db: Executor, ids: Sequence[int]) -> Mapping[int, dict[str, str]]:
    """Return the refs of several repositories by id, as they were last announced."""
    statement = select(ref.c.repository_id, ref.c.name, ref.c.oid).where(ref.c.repository_id.in_(ids))
    tips: dict[int, dict[str, str]] = {id_: {} for id_ in ids}
    for row in await fetch_all(db, statement, LedgerRow):
        tips[row.repository_id][row.name] = row.oid
    return tips


class LedgerRow(TypedRow):
    repository_id: int
    name: str
    oid: str
