"""SQL for releases, read together with their authors."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import BigInteger, BindParameter, Select, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_chassis.errors import Conflict
from ingot_repos.store.tables import account, release


class ReleaseRow(TypedRow):
    """A release and its author, whose columns are None when there is no such account any more."""

    id: int
    repository_id: int
    tag_name: str
    lower_tag_name: str
    target_commitish: str
    name: str
    body: str
    draft: bool
    prerelease: bool
    author_id: int
    created_at: datetime
    published_at: datetime | None
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None


class _ListedReleaseRow(ReleaseRow, TotalRow):
    """A release of a list."""


class ReleaseFilter(msgspec.Struct, frozen=True):
    """Which releases a list shows; None: either. Without ``drafts_too`` no drafts, whatever ``draft`` says."""

    drafts_too: bool = False
    draft: bool | None = None
    prerelease: bool | None = None


_SELECT = select(
    release, account.c.login, account.c.full_name, account.c.email, account.c.avatar_url
).select_from(release.outerjoin(account, account.c.id == release.c.author_id))
_NEWEST_FIRST = (release.c.created_at.desc(), release.c.id.desc())


async def add(tx: Executor, **values: Any) -> int | None:
    """Insert a release; its id, or None when the repository has one of that tag in any letter case."""
    values |= {"lower_tag_name": values["tag_name"].lower()}
    statement = insert(tx, release).values(values).on_conflict_do_nothing().returning(release.c.id)
    return (await tx.execute(statement)).scalar()


async def change(tx: Executor, release_id: int, **values: Any) -> bool:
    """Change columns; whether the release is there. Raises Conflict when another one has the new tag."""
    if "tag_name" in values:
        values |= {"lower_tag_name": values["tag_name"].lower()}
    try:
        changed = await tx.execute(update(release).where(release.c.id == release_id).values(values))
    except IntegrityError as error:
        raise Conflict("there is a release of that tag already") from error
    return changed.rowcount == 1


async def get(db: Executor, repository_id: int, release_id: int) -> ReleaseRow | None:
    statement = _SELECT.where(release.c.repository_id == repository_id, release.c.id == release_id)
    return await fetch_first(db, statement, ReleaseRow)


async def get_by_tag(db: Executor, repository_id: int, tag_name: str) -> ReleaseRow | None:
    """The release of that tag, in any letter case."""
    statement = _SELECT.where(
        release.c.repository_id == repository_id, release.c.lower_tag_name == tag_name.lower()
    )
    return await fetch_first(db, statement, ReleaseRow)


async def latest(db: Executor, repository_id: int) -> ReleaseRow | None:
    """The newest that is neither a draft nor a prerelease."""
    statement = _filtered(_SELECT, repository_id, ReleaseFilter(prerelease=False))
    return await fetch_first(db, statement.order_by(*_NEWEST_FIRST).limit(1), ReleaseRow)


async def list_page(
    db: Executor, repository_id: int, release_filter: ReleaseFilter, page: Slice
) -> tuple[Sequence[ReleaseRow], int]:
    """Releases of a repository, newest first."""
    return await _list(release_filter).read(db, page, repository_id=repository_id)


@cache
def _list(release_filter: ReleaseFilter) -> PreparedPage[_ListedReleaseRow]:
    ids = _filtered(select(release.c.id), bindparam("repository_id", type_=BigInteger), release_filter)
    return PreparedPage(_SELECT, _ListedReleaseRow, *_NEWEST_FIRST, ids=ids)


async def lock_for_update(tx: Executor, release_id: int) -> bool:
    """Wait until nobody else changes the release, and let nobody until the end of ``tx``; whether it is there."""
    statement = select(release.c.id).where(release.c.id == release_id).with_for_update()
    return (await tx.execute(statement)).scalar() is not None


async def remove(tx: Executor, release_id: int) -> bool:
    """Delete a release; whether it was there."""
    return (await tx.execute(delete(release).where(release.c.id == release_id))).rowcount == 1


def _filtered(
    statement: Select[Any], repository_id: int | BindParameter[int], release_filter: ReleaseFilter
) -> Select[Any]:
    statement = statement.where(release.c.repository_id == repository_id)
    if not release_filter.drafts_too:
        statement = statement.where(release.c.draft.is_(False))
    if release_filter.draft is not None:
        statement = statement.where(release.c.draft.is_(release_filter.draft))
    if release_filter.prerelease is not None:
        statement = statement.where(release.c.prerelease.is_(release_filter.prerelease))
    return statement
