"""SQL for the files of releases. Their bytes are objects, whose keys follow from repository and ``uuid``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_first, fetch_page
from ingot_repos.store.tables import release, release_asset


class AssetRow(TypedRow):
    """A file and its release. ``shares_name``: another file of the release has the same name."""

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
    """Insert a file; its id."""
    added = await tx.execute(insert(release_asset).values(values).returning(release_asset.c.id))
    return int(added.scalar_one())


async def get(db: Executor, release_id: int, asset_id: int) -> AssetRow | None:
    statement = _SELECT.where(release_asset.c.release_id == release_id, release_asset.c.id == asset_id)
    return await fetch_first(db, statement, AssetRow)


async def get_by_uuid(db: Executor, repository_id: int, uuid: str) -> AssetRow | None:
    statement = _SELECT.where(release.c.repository_id == repository_id, release_asset.c.uuid == uuid)
    return await fetch_first(db, statement, AssetRow)


async def get_by_name(db: Executor, repository_id: int, tag_name: str, name: str) -> AssetRow | None:
    """The first file of that name of the release of that tag, whose letter case does not matter."""
    statement = _SELECT.where(
        release.c.repository_id == repository_id,
        release.c.lower_tag_name == tag_name.lower(),
        release_asset.c.name == name,
    )
    return await fetch_first(db, statement.order_by(release_asset.c.id).limit(1), AssetRow)


async def list_of_releases(db: Executor, release_ids: Collection[int]) -> dict[int, list[AssetRow]]:
    """All files of these releases, by release; the oldest first."""
    if not release_ids:
        return {}
    statement = _SELECT.where(release_asset.c.release_id.in_(release_ids)).order_by(release_asset.c.id)
    files: dict[int, list[AssetRow]] = {}
    for row in await fetch_all(db, statement, AssetRow):
        files.setdefault(row.release_id, []).append(row)
    return files


async def list_of_repository(db: Executor, repository_id: int) -> Sequence[AssetRow]:
    """All files of a repository's releases."""
    return await fetch_all(db, _SELECT.where(release.c.repository_id == repository_id), AssetRow)


async def list_page(db: Executor, release_id: int, page: Slice) -> tuple[Sequence[AssetRow], int]:
    """Files of a release, the oldest first."""
    ids = select(release_asset.c.id).where(release_asset.c.release_id == release_id)
    return await fetch_page(db, _SELECT, page, AssetRow, release_asset.c.id, ids=ids)


async def count(db: Executor, release_id: int) -> int:
    return await fetch_count(db, select(release_asset.c.id).where(release_asset.c.release_id == release_id))


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Which of these are files."""
    statement = select(release_asset.c.uuid).where(release_asset.c.uuid.in_(uuids))
    return set((await db.execute(statement)).scalars())


async def rename(tx: Executor, asset_id: int, name: str) -> None:
    await tx.execute(update(release_asset).where(release_asset.c.id == asset_id).values(name=name))


async def count_download(tx: Executor, asset_id: int) -> None:
    """One download more."""
    downloads = release_asset.c.download_count
    await tx.execute(
        update(release_asset).where(release_asset.c.id == asset_id).values({downloads: downloads + 1})
    )


async def remove(tx: Executor, asset_id: int) -> bool:
    """Delete a file; whether it was there."""
    return (await tx.execute(delete(release_asset).where(release_asset.c.id == asset_id))).rowcount == 1
