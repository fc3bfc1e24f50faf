"""The table of release assets, and its SQL.

The object store has the bytes of assets. The key of an asset is made from its repository and ``uuid``.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKey, Index, String, Table, delete, insert, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_repos.catalog.store.tables import metadata
from ingot_repos.releases.store.releases import release

release_asset = Table(
    "release_asset",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("release_id", ForeignKey("release.id", ondelete="CASCADE"), nullable=False),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(255), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("download_count", BigInteger, nullable=False, server_default="0"),
    Column("uploader_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Not unique: a release may have several files of one name.
    Index("ix_release_asset_release_id_name", "release_id", "name"),
    **LASTING_IDS,
)


class AssetRow(TypedRow):
    """An asset and its release. ``shares_name``: another asset of the release has the same name."""

    id: int
    release_id: int
    uuid: str
    name: str
    size: int
    sha256: str
    download_count: int
    uploader_id: int
    created_at: datetime
    repository_id: int
    tag_name: str
    draft: bool
    shares_name: bool


_other = release_asset.alias("other")
_SELECT = select(
    release_asset,
    release.c.repository_id,
    release.c.tag_name,
    release.c.draft,
    select(_other.c.id)
    .where(
        _other.c.release_id == release_asset.c.release_id,
        _other.c.name == release_asset.c.name,
        _other.c.id != release_asset.c.id,
    )
    .exists()
    .label("shares_name"),
).select_from(release_asset.join(release, release.c.id == release_asset.c.release_id))


async def add(tx: Executor, **values: Any) -> int:
    """Insert an asset and return its id."""
    added = await tx.execute(insert(release_asset).values(values).returning(release_asset.c.id))
    return int(added.scalar_one())


async def get(db: Executor, release_id: int, asset_id: int) -> AssetRow | None:
    statement = _SELECT.where(release_asset.c.release_id == release_id, release_asset.c.id == asset_id)
    return await fetch_first(db, statement, AssetRow)


async def get_by_uuid(db: Executor, repository_id: int, uuid: str) -> AssetRow | None:
    statement = _SELECT.where(release.c.repository_id == repository_id, release_asset.c.uuid == uuid)
    return await fetch_first(db, statement, AssetRow)


async def get_by_name(db: Executor, repository_id: int, tag_name: str, name: str) -> AssetRow | None:
    """Return the first asset with this name in the release of the tag, or None.

    The tag may be in any letter case.
    """
    statement = _SELECT.where(
        release.c.repository_id == repository_id,
        release.c.lower_tag_name == tag_name.lower(),
        release_asset.c.name == name,
    )
    return await fetch_first(db, statement.order_by(release_asset.c.id).limit(1), AssetRow)


async def list_of_releases(db: Executor, release_ids: Collection[int]) -> dict[int, list[AssetRow]]:
    """Return all assets of these releases by release id, the oldest first."""
    if not release_ids:
        return {}
    statement = _SELECT.where(release_asset.c.release_id.in_(release_ids)).order_by(release_asset.c.id)
    files: dict[int, list[AssetRow]] = {}
    for row in await fetch_all(db, statement, AssetRow):
        files.setdefault(row.release_id, []).append(row)
    return files


async def list_of_repository(db: Executor, repository_id: int) -> Sequence[AssetRow]:
    """List all assets of a repository."""
    return await fetch_all(db, _SELECT.where(release.c.repository_id == repository_id), AssetRow)


async def list_page(db: Executor, release_id: int, page: Slice) -> tuple[Sequence[AssetRow], int]:
    """List assets of a release, the oldest first."""
    ids = select(release_asset.c.id).where(release_asset.c.release_id == release_id)
    return await fetch_page(db, _SELECT, page, AssetRow, release_asset.c.id, ids=ids)


async def count(db: Executor, release_id: int) -> int:
    return await fetch_count(db, select(release_asset.c.id).where(release_asset.c.release_id == release_id))


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Return the members of ``uuids`` that are uuids of assets."""
    statement = select(release_asset.c.uuid).where(release_asset.c.uuid.in_(uuids))
    return set((await db.execute(statement)).scalars())


async def rename(tx: Executor, asset_id: int, name: str) -> None:
    await tx.execute(update(release_asset).where(release_asset.c.id == asset_id).values(name=name))


async def count_download(tx: Executor, asset_id: int) -> None:
    """Add 1 to the download count of an asset."""
    downloads = release_asset.c.download_count
    await tx.execute(
        update(release_asset).where(release_asset.c.id == asset_id).values({downloads: downloads + 1})
    )


async def remove(tx: Executor, asset_id: int) -> bool:
    """Delete an asset. Return whether it existed."""
    return (await tx.execute(delete(release_asset).where(release_asset.c.id == asset_id))).rowcount == 1
