"""SQL for repositories, read together with their owner and the grants of one viewer."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    and_,
    bindparam,
    cast,
    delete,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.merges import MergeStyle
from ingot_repos.catalog.store.columns import COLUMNS
from ingot_repos.catalog.store.states import AccountKind, RepositoryState, Visibility
from ingot_repos.catalog.store.tables import (
    account,
    collaboration,
    former_name,
    repository,
    team_grant,
    transfer,
)
from ingot_repos.catalog.store.viewers import IS_CREATED, NOBODY, Viewer, ViewerKind, visible


class RepositoryRow(TypedRow):
    """A repository, its owner, and the grants of one viewer.

    ``mode`` is the mode of the viewer's collaboration. ``granted`` has the ids of the viewer's teams with a
    grant for the repository, separated by commas. ``recipient_id`` is the account that must answer a pending
    transfer.
    """

    id: int
    owner_id: int
    name: str
    lower_name: str
    description: str
    website: str
    source_url: str
    avatar_digest: str
    private: bool
    empty: bool
    archived: bool
    archived_at: datetime | None
    mirror: bool
    issues_enabled: bool
    pulls_enabled: bool
    releases_enabled: bool
    wiki_enabled: bool
    template: bool
    allow_merge_commits: bool
    allow_rebase: bool
    allow_rebase_explicit: bool
    allow_squash_merge: bool
    allow_fast_forward_only_merge: bool
    allow_merge_update: bool
    allow_rebase_update: bool
    default_merge_style: MergeStyle
    default_delete_branch_after_merge: bool
    inert_settings: str
    topics: str
    language: str
    licenses: str
    branch_count: int
    default_branch: str
    fork_of: int | None
    wiki_of: int | None
    size: int
    stars_count: int
    forks_count: int
    watchers_count: int
    open_issues_count: int
    open_pulls_count: int
    releases_count: int
    state: RepositoryState
    shard: str
    ref_version: int
    created_at: datetime
    updated_at: datetime
    owner_kind: AccountKind
    owner_login: str
    owner_full_name: str
    owner_email: str
    owner_avatar_url: str
    owner_profile: str | None
    owner_visibility: Visibility
    recipient_id: int | None
    mode: str | None
    granted: str | None


_OWNER = (
    account.c.kind.label("owner_kind"),
    account.c.login.label("owner_login"),
    account.c.full_name.label("owner_full_name"),
    account.c.email.label("owner_email"),
    account.c.avatar_url.label("owner_avatar_url"),
    account.c.profile.label("owner_profile"),
    account.c.visibility.label("owner_visibility"),
    transfer.c.recipient_id,
)
_COMMA: Any = literal_column("','")
_NOTHING: ColumnElement[Any] = cast(null(), String)


def select_joined(kind: ViewerKind = NOBODY) -> Select[Any]:
    """Return a SELECT of the columns of RepositoryRow for a kind of viewer.

    The viewer's values are parameters.
    """
    source = repository.join(account, account.c.id == repository.c.owner_id)
    source = source.outerjoin(transfer, transfer.c.repository_id == repository.c.id)
    mode, granted = _NOTHING, _NOTHING
    if kind.signed_in:
        of_viewer = collaboration.c.user_id == bindparam("viewer_id", type_=BigId)
        source = source.outerjoin(
            collaboration, and_(collaboration.c.repository_id == repository.c.id, of_viewer)
        )
        mode = collaboration.c.mode
    if kind.in_teams:
        granted = (
            select(func.aggregate_strings(cast(team_grant.c.team_id, String), _COMMA))
            .where(
                team_grant.c.repository_id == repository.c.id, any_of(team_grant.c.team_id, "viewer_teams")
            )
            .correlate(repository)
            .scalar_subquery()
        )
    return select(*COLUMNS, *_OWNER, mode.label("mode"), granted.label("granted")).select_from(source)


_BY = {
    "id": repository.c.id == bindparam("repository_id", type_=BigId),
    "name": and_(account.c.lower_login == bindparam("owner"), repository.c.lower_name == bindparam("name")),
}
_ANONYMOUS, _SIGNED_IN, _IN_TEAMS = (
    {key: PreparedQuery(select_joined(kind).where(by, IS_CREATED), RepositoryRow) for key, by in _BY.items()}
    for kind in (NOBODY, ViewerKind(signed_in=True), ViewerKind(signed_in=True, in_teams=True))
)


async def _get(
    db: Executor, viewer: Viewer, key: Literal["id", "name"], **values: Any
) -> RepositoryRow | None:
    if not viewer.id:
        return await _ANONYMOUS[key].first(db, **values)
    values["viewer_id"] = viewer.id
    if not viewer.teams:
        return await _SIGNED_IN[key].first(db, **values)
    return await _IN_TEAMS[key].first(db, viewer_teams=viewer.teams, **values)


async def get_by_name(db: Executor, viewer: Viewer, owner: str, name: str) -> RepositoryRow | None:
    """Return a repository, its owner and the viewer's grants, in one statement."""
    return await _get(db, viewer, "name", owner=owner.lower(), name=name.lower())


async def get_by_former_name(db: Executor, viewer: Viewer, owner: str, name: str) -> RepositoryRow | None:
    """Return the repository that had this name before, if no other repository has it now."""
    statement = select_joined(viewer.kind)
    holder = account.alias("holder")
    former = (
        select(former_name.c.repository_id)
        .join(holder, holder.c.id == former_name.c.owner_id)
        .where(holder.c.lower_login == owner.lower(), former_name.c.lower_name == name.lower())
        .scalar_subquery()
    )
    statement = statement.where(repository.c.id == former, IS_CREATED)
    return await fetch_first(db, statement, RepositoryRow, **viewer.values())


async def get(db: Executor, viewer: Viewer, repository_id: int) -> RepositoryRow | None:
    return await _get(db, viewer, "id", repository_id=repository_id)


_UNFILTERED = PreparedQuery(select_joined().where(_BY["id"]), RepositoryRow)


async def get_unfiltered(db: Executor, repository_id: int) -> RepositoryRow | None:
    """Return a repository in any state, without grants."""
    return await _UNFILTERED.first(db, repository_id=repository_id)


async def newest_of(db: Executor, owner_id: int) -> int | None:
    """Return the id of the most recently created repository of an account, in any state, or None."""
    newest = await db.execute(select(func.max(repository.c.id)).where(repository.c.owner_id == owner_id))
    return newest.scalar()


async def list_owned(db: Executor, owner_id: int, newest_id: int, limit: int) -> Sequence[RepositoryRow]:
    """List at most ``limit`` repositories of an account, oldest first, in any state.

    Repositories with ids above ``newest_id`` are omitted.
    """
    owned = select_joined().where(repository.c.owner_id == owner_id, repository.c.id <= newest_id)
    return await fetch_all(db, owned.order_by(repository.c.id).limit(limit), RepositoryRow)


async def get_visible(db: Executor, viewer: Viewer, ids: Collection[int]) -> dict[int, RepositoryRow]:
    """Return the repositories with these ids that the viewer may see, by id."""
    if not ids:
        return {}
    rows = await _visible(viewer.kind).all(db, ids=list(ids), **viewer.values())
    return {row.id: row for row in rows}


@cache
def _visible(kind: ViewerKind) -> PreparedQuery[RepositoryRow]:
    """Return a query for the repositories among some ids that this kind of viewer may see."""
    is_one = any_of(repository.c.id, "ids")
    return PreparedQuery(select_joined(kind).where(is_one, visible(kind)), RepositoryRow)


class _IdRow(TypedRow):
    id: int


async def add(db: Executor, **values: Any) -> int | None:
    """Insert a repository and return its id.

    Return None if the owner has a repository with that name in any letter case.
    """
    values |= {"lower_name": values["name"].lower(), "created_at": now(), "updated_at": now()}
    added = await _addition(tuple(values)).first(db, _IdRow, **values)
    if added is None:
        return None
    await _release_former_name(db, values["owner_id"], values["lower_name"])
    return added.id


@cache
def _addition(names: tuple[str, ...]) -> PreparedWrite:
    """Return the INSERT of a repository with values for these columns."""
    statement = postgresql.insert(repository).values({name: bindparam(name) for name in names})
    return PreparedWrite(statement.on_conflict_do_nothing().returning(repository.c.id))


async def move(db: Executor, row: RepositoryRow, *, owner_id: int, name: str) -> bool:
    """Give a repository a new name or owner. Its former name redirects. Return False if the name is taken.

    A pending transfer ends.
    """
    lower = name.lower()
    try:
        await db.execute(
            update(repository)
            .where(repository.c.id == row.id)
            .values(owner_id=owner_id, name=name, lower_name=lower, updated_at=now())
        )
    except IntegrityError:
        return False
    await db.execute(delete(transfer).where(transfer.c.repository_id == row.id))
    await _release_former_name(db, owner_id, lower)
    if (owner_id, lower) != (row.owner_id, row.lower_name):
        former = {"owner_id": row.owner_id, "lower_name": row.lower_name, "repository_id": row.id}
        statement = insert(db, former_name).values(former)
        await db.execute(
            statement.on_conflict_do_update(index_elements=["owner_id", "lower_name"], set_=former)
        )
    return True


async def is_taken(db: Executor, owner_id: int, name: str) -> bool:
    """Return whether the account has a repository with that name, in any letter case."""
    same = and_(repository.c.owner_id == owner_id, repository.c.lower_name == name.lower())
    return (await db.execute(select(repository.c.id).where(same))).scalar() is not None


async def _release_former_name(db: Executor, owner_id: int, lower_name: str) -> None:
    """Remove a former name, because another repository has taken it."""
    await _RELEASE.run(db, owner_id=owner_id, lower_name=lower_name)


_RELEASE = PreparedWrite(
    delete(former_name).where(
        former_name.c.owner_id == bindparam("owner_id", type_=BigId),
        former_name.c.lower_name == bindparam("lower_name"),
    )
)


_OF = repository.c.id == bindparam("of", type_=BigId)


@lru_cache(maxsize=128)
def _change(names: tuple[str, ...]) -> PreparedWrite:
    """Return the UPDATE of these columns. It is cached, because callers use few combinations."""
    values = {name: bindparam(f"new_{name}", type_=repository.c[name].type) for name in names}
    return PreparedWrite(update(repository).where(_OF).values(values))


async def change(db: Executor, repository_id: int, **values: Any) -> bool:
    """Set columns and the time of the last change. Return True if the repository exists."""
    values["updated_at"] = now()
    bound = {f"new_{name}": value for name, value in values.items()}
    return await _change(tuple(sorted(values))).run(db, of=repository_id, **bound) == 1


async def set_open_counts(db: Executor, repository_id: int, *, issues: int, pulls: int) -> None:
    await db.execute(
        update(repository)
        .where(repository.c.id == repository_id)
        .values(open_issues_count=issues, open_pulls_count=pulls)
    )


_FORKS = repository.alias("forks")
_COUNT_FORKS = PreparedWrite(
    update(repository)
    .where(_OF)
    .values(
        forks_count=select(func.count())
        .select_from(_FORKS)
        .where(
            _FORKS.c.fork_of == bindparam("of", type_=BigId),
            _FORKS.c.state == RepositoryState.READY,
        )
        .scalar_subquery()
    )
)
_LOCK = PreparedWrite(update(repository).where(_OF).values(updated_at=repository.c.updated_at))


async def count_forks(db: Executor, repository_id: int) -> None:
    """Set ``forks_count`` to the number of forks that are ready."""
    await lock_for_update(
        db, repository_id
    )  # one that is counted at the same moment is committed, or counts after this
    await _COUNT_FORKS.run(db, of=repository_id)


async def lock_for_update(tx: Executor, repository_id: int) -> None:
    """Lock the row of a repository until the transaction ends. On SQLite this locks, too."""
    await _LOCK.run(tx, of=repository_id)


async def fork_of(db: Executor, owner_id: int, parent_id: int) -> int | None:
    """Return the id of the fork of ``parent_id`` that ``owner_id`` owns, or None.

    Failed forks are ignored.
    """
    result = await db.execute(
        select(repository.c.id).where(
            repository.c.owner_id == owner_id,
            repository.c.fork_of == parent_id,
            repository.c.state != RepositoryState.FAILED,
        )
    )
    return result.scalar()


async def count_owned(db: Executor, owner_id: int) -> int:
    """Count the repositories of an account. Lock the account, so the number cannot change."""
    await db.execute(update(account).where(account.c.id == owner_id).values(id=owner_id))
    counted = await db.execute(
        select(func.count()).select_from(repository).where(repository.c.owner_id == owner_id)
    )
    return int(counted.scalar_one())


class RemovedRow(TypedRow):
    """The shard with the files of a removed repository, and its last state."""

    shard: str
    state: RepositoryState


async def remove(db: Executor, repository_id: int) -> RemovedRow | None:
    """Delete a repository and all rows that refer to it. Return None if it does not exist."""
    statement = delete(repository).where(repository.c.id == repository_id)
    return await fetch_first(db, statement.returning(repository.c.shard, repository.c.state), RemovedRow)


async def list_abandoned(db: Executor, before: datetime, shard: str) -> list[int]:
    """Return ids of a shard's repositories whose creation began before that time and never ended."""
    creating = and_(repository.c.state == RepositoryState.CREATING, repository.c.shard == shard)
    rows = await db.execute(select(repository.c.id).where(creating, repository.c.created_at < before))
    return list(rows.scalars())


def stays(at: datetime | ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that no move has locked the repository at that time."""
    return or_(repository.c.locked_until.is_(None), repository.c.locked_until <= at)
