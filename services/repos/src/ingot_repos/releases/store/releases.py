"""The table of releases, and its SQL. Releases are read together with their authors."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    false,
    func,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_chassis.errors import Conflict
from ingot_contracts.repos.imports import GHOST_ID
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.tables import account, metadata, repository

release = Table(
    "release",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("tag_name", String(255), nullable=False),
    Column("lower_tag_name", String(255), nullable=False),
    Column("target_commitish", String(255), nullable=False, default=""),
    Column("name", String(255), nullable=False, default=""),
    Column("body", Text, nullable=False, default=""),
    Column("draft", Boolean, nullable=False),
    Column("prerelease", Boolean, nullable=False, default=False),
    Column("author_id", BigInteger, nullable=False),
    # The author at the source of an import.
    Column("original_author", String(255), nullable=False, default="", server_default=""),
    Column("original_author_id", BigId, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    UniqueConstraint("repository_id", "lower_tag_name"),
    Index("ix_release_repository_id_created_at", "repository_id", "created_at"),
    # Has the columns that a list filters by, so only the releases of the page are read.
    Index("ix_release_listed", "repository_id", "created_at", "id", "draft", "prerelease"),
    **LASTING_IDS,
)


class AuthoredRow(TypedRow):
    """A release of the ghost, and the name of its author at the source."""

    id: int
    original_author: str


class ReleaseRow(TypedRow):
    """A release and its author. The author columns are None if the account was deleted."""

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
    original_author: str
    original_author_id: int
    created_at: datetime
    published_at: datetime | None
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None
    profile: str | None


class _ListedReleaseRow(ReleaseRow, TotalRow):
    """A release in a list."""


class ReleaseFilter(msgspec.Struct, frozen=True):
    """A filter for lists of releases. None matches every release. Drafts need ``drafts_too``."""

    drafts_too: bool = False
    draft: bool | None = None
    prerelease: bool | None = None


_SELECT = select(
    release,
    account.c.login,
    account.c.full_name,
    account.c.email,
    account.c.avatar_url,
    account.c.profile,
).select_from(release.outerjoin(account, account.c.id == release.c.author_id))
_NEWEST_FIRST = (release.c.created_at.desc(), release.c.id.desc())


async def add(tx: Executor, **values: Any) -> int | None:
    """Insert a release and return its id. Return None if the tag has a release, in any letter case."""
    values |= {"lower_tag_name": values["tag_name"].lower()}
    statement = insert(tx, release).values(values).on_conflict_do_nothing().returning(release.c.id)
    return (await tx.execute(statement)).scalar()


async def change(tx: Executor, release_id: int, **values: Any) -> bool:
    """Change columns of a release. Return whether it exists. Raises Conflict if the new tag is taken."""
    if "tag_name" in values:
        values |= {"lower_tag_name": values["tag_name"].lower()}
    try:
        changed = await tx.execute(update(release).where(release.c.id == release_id).values(values))
    except IntegrityError as error:
        raise Conflict("there is a release of that tag already") from error
    return changed.rowcount == 1


async def list_of_ghost(db: Executor, repository_id: int) -> Sequence[AuthoredRow]:
    """Return releases of the ghost whose authors are people of a source."""
    statement = select(release.c.id, release.c.original_author).where(
        release.c.repository_id == repository_id,
        release.c.author_id == GHOST_ID,
        release.c.original_author != "",
    )
    return await fetch_all(db, statement, AuthoredRow)


async def change_authors(tx: Executor, accounts: Mapping[int, int]) -> None:
    """Make accounts the authors of releases of the ghost. ``accounts`` has account ids by release id."""
    if accounts:
        statement = update(release).where(release.c.id == bindparam("one"), release.c.author_id == GHOST_ID)
        values = [{"one": one, "account": account} for one, account in accounts.items()]
        await tx.execute(statement.values(author_id=bindparam("account")), values)


async def get(db: Executor, repository_id: int, release_id: int) -> ReleaseRow | None:
    statement = _SELECT.where(release.c.repository_id == repository_id, release.c.id == release_id)
    return await fetch_first(db, statement, ReleaseRow)


async def get_by_tag(db: Executor, repository_id: int, tag_name: str) -> ReleaseRow | None:
    """Return the release of the tag, in any letter case, or None."""
    statement = _SELECT.where(
        release.c.repository_id == repository_id, release.c.lower_tag_name == tag_name.lower()
    )
    return await fetch_first(db, statement, ReleaseRow)


class _TagRow(TypedRow):
    tag_name: str


async def published_tags(db: Executor, repository_id: int, lower_tag_names: Collection[str]) -> list[str]:
    """Return the tags, among some in lower case, that have a release here which is not a draft."""
    statement = select(release.c.tag_name).where(
        release.c.repository_id == repository_id,
        any_of(release.c.lower_tag_name, "tags"),
        release.c.draft.is_(False),
    )
    rows = await fetch_all(db, statement.order_by(release.c.lower_tag_name), _TagRow, tags=[*lower_tag_names])
    return [row.tag_name for row in rows]


async def latest(db: Executor, repository_id: int) -> ReleaseRow | None:
    """Return the latest release that is neither a draft nor a prerelease, or None."""
    statement = _filtered(_SELECT, repository_id, ReleaseFilter(prerelease=False))
    return await fetch_first(db, statement.order_by(*_NEWEST_FIRST).limit(1), ReleaseRow)


async def list_page(
    db: Executor, repository_id: int, release_filter: ReleaseFilter, page: Slice
) -> tuple[Sequence[ReleaseRow], int]:
    """List releases of a repository, the latest first."""
    return await _list(release_filter).read(db, page, repository_id=repository_id)


@cache
def _list(release_filter: ReleaseFilter) -> PreparedPage[_ListedReleaseRow]:
    ids = _filtered(select(release.c.id), bindparam("repository_id", type_=BigInteger), release_filter)
    return PreparedPage(_SELECT, _ListedReleaseRow, *_NEWEST_FIRST, ids=ids)


async def lock_for_update(tx: Executor, release_id: int) -> bool:
    """Lock a release until the end of ``tx``. Return whether it exists."""
    statement = select(release.c.id).where(release.c.id == release_id).with_for_update()
    return (await tx.execute(statement)).scalar() is not None


async def remove(tx: Executor, release_id: int) -> bool:
    """Delete a release. Return whether it existed."""
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


async def count_published(db: Executor, repository_id: int) -> None:
    """Set ``releases_count`` of the repository to the number of its releases that are not drafts."""
    # One that is counted at the same moment is committed, or counts after this.
    await repositories.lock_for_update(db, repository_id)
    counted = (
        select(func.count())
        .select_from(release)
        .where(release.c.repository_id == repository_id, release.c.draft.is_(false()))
        .scalar_subquery()
    )
    await db.execute(
        update(repository).where(repository.c.id == repository_id).values(releases_count=counted)
    )
