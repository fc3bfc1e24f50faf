"""SQL for releases, read together with their authors."""

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, and_, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from ingot_chassis.database import Executor, insert
from ingot_chassis.errors import Conflict
from ingot_chassis.paging import Page
from ingot_repos.store.tables import account, release

ReleaseRow = Row[Any]

_SELECT = select(
    release, account.c.login, account.c.full_name, account.c.email, account.c.avatar_url
).select_from(release.outerjoin(account, account.c.id == release.c.author_id))


class Wanted(msgspec.Struct, frozen=True):
    """Which releases a list shows; None: either. ``drafts_too`` False: no drafts, whatever is asked for."""

    drafts_too: bool = False
    draft: bool | None = None
    prerelease: bool | None = None


async def add(db: Executor, **values: Any) -> int | None:
    """Insert a release; its id, or None when the repository has one of that tag in any letter case."""
    values |= {"lower_tag_name": values["tag_name"].lower()}
    statement = insert(db, release).values(values).on_conflict_do_nothing().returning(release.c.id)
    return (await db.execute(statement)).scalar()


async def change(db: Executor, release_id: int, **values: Any) -> bool:
    """Change columns; whether the release is there. Raises Conflict when another one has the new tag."""
    if "tag_name" in values:
        values |= {"lower_tag_name": values["tag_name"].lower()}
    try:
        changed = await db.execute(update(release).where(release.c.id == release_id).values(values))
    except IntegrityError as error:
        raise Conflict("there is a release of that tag already") from error
    return changed.rowcount == 1


async def get(db: Executor, repository_id: int, release_id: int) -> ReleaseRow | None:
    found = await db.execute(
        _SELECT.where(release.c.repository_id == repository_id, release.c.id == release_id)
    )
    return found.first()


async def get_by_tag(db: Executor, repository_id: int, tag_name: str) -> ReleaseRow | None:
    """The one of that tag, in any letter case."""
    found = await db.execute(
        _SELECT.where(release.c.repository_id == repository_id, release.c.lower_tag_name == tag_name.lower())
    )
    return found.first()


async def latest(db: Executor, repository_id: int) -> ReleaseRow | None:
    """The newest that is neither a draft nor a prerelease."""
    stable = _of(repository_id, Wanted(prerelease=False))
    return (await db.execute(_SELECT.where(stable).order_by(*_NEWEST_FIRST).limit(1))).first()


async def list_of(
    db: Executor, repository_id: int, wanted: Wanted, page: Page
) -> tuple[list[ReleaseRow], int]:
    """Releases of a repository, newest first."""
    these = _of(repository_id, wanted)
    rows = await db.execute(
        _SELECT.where(these).order_by(*_NEWEST_FIRST).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(release).where(these))
    return list(rows.all()), int(total.scalar_one())


async def remove(db: Executor, release_id: int) -> bool:
    """Delete a release; whether it was there."""
    return (await db.execute(delete(release).where(release.c.id == release_id))).rowcount == 1


_NEWEST_FIRST = (release.c.created_at.desc(), release.c.id.desc())


def _of(repository_id: int, wanted: Wanted) -> ColumnElement[bool]:
    these = [release.c.repository_id == repository_id]
    if not wanted.drafts_too:
        these.append(release.c.draft.is_(False))
    if wanted.draft is not None:
        these.append(release.c.draft.is_(wanted.draft))
    if wanted.prerelease is not None:
        these.append(release.c.prerelease.is_(wanted.prerelease))
    return and_(*these)
