"""SQL for LFS objects, and for links between repositories and objects."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ScalarSelect, bindparam, delete, func, literal, literal_column, select, update
from sqlalchemy import insert as plain_insert

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import account, repository
from ingot_repos.catalog.store.viewers import Viewer, visible
from ingot_repos.lfs.store.tables import lfs_link, lfs_object, lfs_user


class LfsObjectRow(TypedRow):
    """A stored object. ``oid`` is the SHA-256 of its bytes. The storage key is made from ``uuid``."""

    id: int
    shard: str
    oid: str
    size: int
    uuid: str
    created_at: datetime


class LfsLinkRow(TypedRow):
    """A link from a repository to an object.

    ``unneeded_since``: the time from which no commit points to the object. None while it is needed.
    """

    id: int
    oid: str
    unneeded_since: datetime | None


class _ObjectIdRow(TypedRow):
    object_id: int


def _shard_of(repository_id: int) -> ScalarSelect[str]:
    """Select the shard of a repository. A repository that moves has objects on two shards."""
    return select(repository.c.shard).where(repository.c.id == repository_id).scalar_subquery()


async def list_of_repository(
    db: Executor, repository_id: int, oids: Collection[str]
) -> dict[str, LfsObjectRow]:
    """Return the objects of ``oids`` that the repository has, by oid."""
    linked = select(lfs_link.c.object_id).where(lfs_link.c.repository_id == repository_id)
    statement = select(lfs_object).where(
        lfs_object.c.oid.in_(oids),
        lfs_object.c.id.in_(linked),
        lfs_object.c.shard == _shard_of(repository_id),
    )
    return {row.oid: row for row in await fetch_all(db, statement, LfsObjectRow)}


async def list_readable(
    db: Executor, viewer: Viewer, shard: str, oids: Collection[str]
) -> dict[str, LfsObjectRow]:
    """Return the objects of ``oids`` in any repository that the viewer may read, by oid."""
    if not oids:
        return {}
    readable = (
        select(lfs_link.c.object_id)
        .join(repository, repository.c.id == lfs_link.c.repository_id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(lfs_link.c.object_id == lfs_object.c.id, visible(viewer.kind))
        .correlate(lfs_object)
        .exists()
    )
    statement = select(lfs_object).where(lfs_object.c.shard == shard, lfs_object.c.oid.in_(oids), readable)
    return {row.oid: row for row in await fetch_all(db, statement, LfsObjectRow, **viewer.values())}


async def get(db: Executor, shard: str, oid: str) -> LfsObjectRow | None:
    """Return the object with this oid on the shard, with or without links; None if it does not exist."""
    statement = select(lfs_object).where(lfs_object.c.shard == shard, lfs_object.c.oid == oid)
    return await fetch_first(db, statement, LfsObjectRow)


_ANY_LINK = PreparedQuery(
    select(lfs_link.c.object_id)
    .where(lfs_link.c.repository_id == bindparam("repository_id", type_=BigId))
    .limit(literal_column("1")),
    _ObjectIdRow,
)


async def has_any(db: Executor, repository_id: int) -> bool:
    """Return whether the repository has objects."""
    return await _ANY_LINK.first(db, repository_id=repository_id) is not None


async def add(tx: Executor, *, shard: str, oid: str, size: int, uuid: str) -> bool:
    """Insert an object. Return False if the shard already has it."""
    values = {"shard": shard, "oid": oid, "size": size, "uuid": uuid, "created_at": now()}
    return (await tx.execute(insert(tx, lfs_object).values(values).on_conflict_do_nothing())).rowcount == 1


async def link(tx: Executor, repository_id: int, shard: str, oids: Collection[str]) -> set[str]:
    """Link existing objects to a repository. Return the linked oids.

    The objects cannot be deleted before the transaction ends.
    """
    there = select(lfs_object).where(lfs_object.c.shard == shard, lfs_object.c.oid.in_(oids))
    rows = await fetch_all(tx, there.with_for_update(read=True, key_share=True), LfsObjectRow)
    if rows:
        links = [{"repository_id": repository_id, "object_id": row.id} for row in rows]
        await tx.execute(insert(tx, lfs_link).values(links).on_conflict_do_nothing())
        await tx.execute(insert(tx, lfs_user).values(repository_id=repository_id).on_conflict_do_nothing())
        await mark_needed(tx, repository_id, [row.oid for row in rows])
    return {row.oid for row in rows}


async def list_links(db: Executor, repository_id: int) -> Sequence[LfsLinkRow]:
    """List the links of a repository."""
    statement = (
        select(lfs_object.c.id, lfs_object.c.oid, lfs_link.c.unneeded_since)
        .join(lfs_link, lfs_link.c.object_id == lfs_object.c.id)
        .where(lfs_link.c.repository_id == repository_id)
    )
    return await fetch_all(db, statement, LfsLinkRow)


async def mark_needed(tx: Executor, repository_id: int, oids: Collection[str]) -> None:
    """Mark these objects of the repository as needed."""
    named = select(lfs_object.c.id).where(lfs_object.c.oid.in_(oids))
    statement = update(lfs_link).where(
        lfs_link.c.repository_id == repository_id,
        lfs_link.c.unneeded_since.is_not(None),
        lfs_link.c.object_id.in_(named),
    )
    await tx.execute(statement.values(unneeded_since=None))


async def mark_unneeded(tx: Executor, repository_id: int, ids: Collection[int], since: datetime) -> None:
    """Mark objects of the repository as unneeded since ``since``. Earlier marks keep their time."""
    statement = update(lfs_link).where(
        lfs_link.c.repository_id == repository_id,
        lfs_link.c.unneeded_since.is_(None),
        lfs_link.c.object_id.in_(ids),
    )
    await tx.execute(statement.values(unneeded_since=since))


async def unlink(tx: Executor, repository_id: int, ids: Collection[int], before: datetime) -> int:
    """Remove links that have been unneeded since before ``before``. Return their number."""
    statement = delete(lfs_link).where(
        lfs_link.c.repository_id == repository_id,
        lfs_link.c.unneeded_since < before,
        lfs_link.c.object_id.in_(ids),
    )
    return (await tx.execute(statement)).rowcount


async def copy_links(
    tx: Executor, source_id: int, target_id: int, oids: Collection[str] | None = None
) -> None:
    """Link objects of the source to the target: all, or the objects in ``oids``.

    Both repositories must be on one shard. The link of the source keeps the object from being deleted.
    """
    on_shard = select(lfs_object.c.id).where(lfs_object.c.shard == _shard_of(source_id))
    has_one = lfs_link.alias("has_one")
    statement = select(literal(target_id), lfs_link.c.object_id).where(
        lfs_link.c.repository_id == source_id,
        lfs_link.c.object_id.in_(on_shard),
        ~select(has_one.c.object_id)
        .where(has_one.c.repository_id == target_id, has_one.c.object_id == lfs_link.c.object_id)
        .exists(),
    )
    if oids is not None:
        named = select(lfs_object.c.id).where(lfs_object.c.oid.in_(oids))
        statement = statement.where(lfs_link.c.object_id.in_(named))
    await tx.execute(plain_insert(lfs_link).from_select(["repository_id", "object_id"], statement))
    has_some = select(literal(target_id)).where(
        select(lfs_link.c.object_id).where(lfs_link.c.repository_id == target_id).exists(),
        ~select(lfs_user).where(lfs_user.c.repository_id == target_id).exists(),
    )
    # A concurrent upload of the first object may add the row, too.
    await tx.execute(insert(tx, lfs_user).from_select(["repository_id"], has_some).on_conflict_do_nothing())
    if oids is not None:
        await mark_needed(tx, target_id, oids)


async def lock_account(tx: Executor, owner_id: int) -> None:
    """Lock an account until the transaction ends, so its usage cannot change. Works on SQLite, too."""
    await tx.execute(update(account).where(account.c.id == owner_id).values(id=owner_id))


async def used_bytes(db: Executor, owner_id: int) -> int:
    """Return the bytes of all objects of the account's repositories. Each object counts once."""
    stored = lfs_object.alias("stored")
    objects = (
        select(lfs_link.c.object_id)
        .join(repository, repository.c.id == lfs_link.c.repository_id)
        .join(stored, stored.c.id == lfs_link.c.object_id)
        .where(repository.c.owner_id == owner_id, stored.c.shard == repository.c.shard)
    )
    total = select(func.coalesce(func.sum(lfs_object.c.size), 0)).where(lfs_object.c.id.in_(objects))
    return int((await db.execute(total)).scalar_one())


async def remove_unlinked(tx: Executor, shard: str, most: int) -> Sequence[str]:
    """Delete up to ``most`` objects without links. Return their uuids. Objects being linked are skipped."""
    is_linked = (
        select(lfs_link.c.object_id)
        .where(lfs_link.c.object_id == lfs_object.c.id)
        .correlate(lfs_object)
        .exists()
    )
    statement = select(lfs_object.c.id).where(lfs_object.c.shard == shard, ~is_linked).limit(most)
    ids = (await tx.execute(statement.with_for_update(skip_locked=True))).scalars().all()
    # Checked again: the first statement misses a link that was committed before it locked the row.
    removed = delete(lfs_object).where(lfs_object.c.id.in_(ids), ~is_linked).returning(lfs_object.c.uuid)
    return (await tx.execute(removed)).scalars().all() if ids else []


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Return the members of ``uuids`` that are uuids of LFS objects."""
    statement = select(lfs_object.c.uuid).where(lfs_object.c.uuid.in_(uuids))
    return set((await db.execute(statement)).scalars())
