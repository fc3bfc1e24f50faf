"""SQL for repositories, read together with their owner and what one principal was granted."""

from collections.abc import Collection
from typing import Any, Literal

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Row,
    Select,
    String,
    and_,
    bindparam,
    cast,
    delete,
    false,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_repos.store.marks import TABLES, Mark
from ingot_repos.store.tables import account, collaboration, former_name, repository, team_grant

RepositoryRow = Row[Any]

_OWNER = (
    account.c.kind.label("owner_kind"),
    account.c.login.label("owner_login"),
    account.c.full_name.label("owner_full_name"),
    account.c.email.label("owner_email"),
    account.c.avatar_url.label("owner_avatar_url"),
    account.c.visibility.label("owner_visibility"),
)
_SEEN = repository.c.state != literal_column("'creating'")


class Viewer(msgspec.Struct, frozen=True):
    """Who looks, as far as SQL must know. ``owned`` are organizations they own, ``inside`` all they are in.

    With ``confined_to`` they are who they are to these repositories, and nobody to all others.
    """

    id: int = 0
    admin: bool = False
    owned: list[int] = []
    inside: list[int] = []
    teams: list[int] = []
    confined_to: list[int] | None = None


def _joined(viewer_id: Any, teams: Any) -> tuple[Select[Any], FromClause]:
    """Repository and owner, with ``mode`` (collaboration) and ``granted`` (team ids by comma) of the viewer.

    Both arguments are values or parameters of the statement, or None where there is nobody or no team.
    """
    source = repository.join(account, account.c.id == repository.c.owner_id)
    mode: ColumnElement[Any] = cast(null(), String)
    granted: ColumnElement[Any] = cast(null(), String)
    if viewer_id is not None:
        source = source.outerjoin(
            collaboration,
            and_(collaboration.c.repository_id == repository.c.id, collaboration.c.user_id == viewer_id),
        )
        mode = collaboration.c.mode
    if teams is not None:
        granted = (
            select(func.aggregate_strings(cast(team_grant.c.team_id, String), ","))
            .where(team_grant.c.repository_id == repository.c.id, team_grant.c.team_id.in_(teams))
            .correlate(repository)
            .scalar_subquery()
        )
    columns = (repository, *_OWNER, mode.label("mode"), granted.label("granted"))
    return select(*columns).select_from(source), source


def _one(by: ColumnElement[bool], *, signed_in: bool = False, teams: bool = False) -> Select[Any]:
    """The statement for one repository."""
    statement, _ = _joined(
        bindparam("viewer_id", type_=BigInteger) if signed_in else None,
        bindparam("viewer_teams", expanding=True) if teams else None,
    )
    return statement.where(by)


_BY = {
    "id": repository.c.id == bindparam("repository_id", type_=BigInteger),
    "name": and_(account.c.lower_login == bindparam("owner"), repository.c.lower_name == bindparam("name")),
}
# Built once, and only once compiled where no list of teams is in it: that costs more than running them.
_RAW = Lookup(_one(_BY["id"]))
_FOR_NOBODY = {key: Lookup(_one(and_(by, _SEEN))) for key, by in _BY.items()}
_FOR_SOMEBODY = {key: Lookup(_one(and_(by, _SEEN), signed_in=True)) for key, by in _BY.items()}
_FOR_MEMBERS = {key: _one(and_(by, _SEEN), signed_in=True, teams=True) for key, by in _BY.items()}


async def _get(
    db: Executor, viewer: Viewer, key: Literal["id", "name"], **given: Any
) -> RepositoryRow | None:
    if not viewer.id:
        return await _FOR_NOBODY[key].first(db, **given)
    given["viewer_id"] = viewer.id
    if not viewer.teams:
        return await _FOR_SOMEBODY[key].first(db, **given)
    return (await db.execute(_FOR_MEMBERS[key], given | {"viewer_teams": viewer.teams})).first()


async def get_by_name(db: Executor, viewer: Viewer, owner: str, name: str) -> RepositoryRow | None:
    """One statement for a repository, its owner and the viewer's grants."""
    return await _get(db, viewer, "name", owner=owner.lower(), name=name.lower())


async def get_by_former_name(db: Executor, viewer: Viewer, owner: str, name: str) -> RepositoryRow | None:
    """The repository that was there once, when no other has taken the name."""
    statement, _ = _joined(viewer.id or None, viewer.teams or None)
    holder = account.alias("holder")
    former = (
        select(former_name.c.repository_id)
        .join(holder, holder.c.id == former_name.c.owner_id)
        .where(holder.c.lower_login == owner.lower(), former_name.c.lower_name == name.lower())
        .scalar_subquery()
    )
    return (await db.execute(statement.where(repository.c.id == former, _SEEN))).first()


async def get(db: Executor, viewer: Viewer, repository_id: int) -> RepositoryRow | None:
    return await _get(db, viewer, "id", repository_id=repository_id)


async def get_raw(db: Executor, repository_id: int) -> RepositoryRow | None:
    """With its owner, in whatever state it is."""
    return await _RAW.first(db, repository_id=repository_id)


async def parents(db: Executor, viewer: Viewer, ids: Collection[int]) -> dict[int, RepositoryRow]:
    """The repositories of these ids that the viewer may see, for ``parent`` in answers."""
    if not ids:
        return {}
    statement, _ = _joined(viewer.id or None, viewer.teams or None)
    rows = await db.execute(statement.where(repository.c.id.in_(ids), visible(viewer)))
    return {row.id: row for row in rows}


def visible(viewer: Viewer) -> ColumnElement[bool]:
    """The rows that ``core.access`` would let the viewer read, as a condition on repository and account."""
    if viewer.confined_to is not None:
        unconfined = msgspec.structs.replace(viewer, confined_to=None)
        named = and_(repository.c.id.in_(viewer.confined_to), visible(unconfined))
        return or_(named, visible(Viewer()))
    if viewer.admin:
        return _SEEN
    open_owner: ColumnElement[bool] = account.c.visibility == "public"
    if viewer.id:
        open_owner = or_(
            account.c.visibility.in_(("public", "limited")),
            account.c.id.in_([viewer.id, *viewer.inside]),
        )
    public = and_(repository.c.private.is_(false()), open_owner)
    return and_(_SEEN, or_(public, held(viewer))) if viewer.id else and_(_SEEN, public)


def held(viewer: Viewer) -> ColumnElement[bool]:
    """Repositories that are the viewer's own in some way, public or not."""
    ways: list[ColumnElement[bool]] = [
        repository.c.owner_id.in_([viewer.id, *viewer.owned]),
        select(collaboration.c.user_id)
        .where(collaboration.c.repository_id == repository.c.id, collaboration.c.user_id == viewer.id)
        .correlate(repository)
        .exists(),
    ]
    if viewer.teams:
        ways.append(
            select(team_grant.c.team_id)
            .where(team_grant.c.repository_id == repository.c.id, team_grant.c.team_id.in_(viewer.teams))
            .correlate(repository)
            .exists()
        )
    return or_(*ways)


async def page_of(
    db: Executor, viewer: Viewer, wanted: ColumnElement[bool], page: Page, *order: Any
) -> tuple[list[RepositoryRow], int]:
    statement, source = _joined(viewer.id or None, viewer.teams or None)
    condition = and_(visible(viewer), wanted)
    rows = await db.execute(statement.where(condition).order_by(*order).limit(page.limit).offset(page.offset))
    total = await db.execute(select(func.count()).select_from(source).where(condition))
    return list(rows.all()), int(total.scalar_one())


async def list_owned(
    db: Executor, viewer: Viewer, owner_id: int, page: Page
) -> tuple[list[RepositoryRow], int]:
    """Visible repositories of one owner, last changed first."""
    return await page_of(
        db,
        viewer,
        repository.c.owner_id == owner_id,
        page,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_granted(
    db: Executor, viewer: Viewer, team_id: int, page: Page
) -> tuple[list[RepositoryRow], int]:
    """Visible repositories that a team was given, last changed first."""
    given = select(team_grant.c.repository_id).where(team_grant.c.team_id == team_id)
    return await page_of(
        db,
        viewer,
        repository.c.id.in_(given),
        page,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_held(db: Executor, viewer: Viewer, page: Page) -> tuple[list[RepositoryRow], int]:
    """The viewer's own ones first, then those they can reach by collaboration, teams or ownership of theirs."""
    return await page_of(
        db,
        viewer,
        held(viewer),
        page,
        repository.c.owner_id != viewer.id,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_forks(
    db: Executor, viewer: Viewer, repository_id: int, page: Page
) -> tuple[list[RepositoryRow], int]:
    return await page_of(db, viewer, repository.c.fork_of == repository_id, page, repository.c.id)


async def list_marked(
    db: Executor, viewer: Viewer, mark: Mark, user_id: int, page: Page, *, public_only: bool
) -> tuple[list[RepositoryRow], int]:
    """Visible repositories that ``user_id`` starred or watches."""
    marks = TABLES[mark]
    wanted: ColumnElement[bool] = repository.c.id.in_(
        select(marks.c.repository_id).where(marks.c.user_id == user_id)
    )
    if public_only:
        wanted &= repository.c.private.is_(false())
    return await page_of(db, viewer, wanted, page, repository.c.id.desc())


async def add(db: Executor, **values: Any) -> int | None:
    """Insert a repository; its id, or None when the owner has one of that name in any letter case."""
    values |= {"lower_name": values["name"].lower(), "created_at": now(), "updated_at": now()}
    statement = insert(db, repository).values(values).on_conflict_do_nothing().returning(repository.c.id)
    added = (await db.execute(statement)).scalar()
    if added is not None:
        await _forget_former(db, values["owner_id"], values["lower_name"])
    return added


async def move(db: Executor, row: RepositoryRow, *, owner_id: int, name: str) -> bool:
    """Give a repository another name or owner; the name it had leads there. False when the new one is taken."""
    lower = name.lower()
    try:
        await db.execute(
            update(repository)
            .where(repository.c.id == row.id)
            .values(owner_id=owner_id, name=name, lower_name=lower, updated_at=now())
        )
    except IntegrityError:
        return False
    await _forget_former(db, owner_id, lower)
    if (owner_id, lower) != (row.owner_id, row.lower_name):
        former = {"owner_id": row.owner_id, "lower_name": row.lower_name, "repository_id": row.id}
        statement = insert(db, former_name).values(former)
        await db.execute(
            statement.on_conflict_do_update(index_elements=["owner_id", "lower_name"], set_=former)
        )
    return True


async def _forget_former(db: Executor, owner_id: int, lower_name: str) -> None:
    """The name belongs to a repository again."""
    await db.execute(
        delete(former_name).where(former_name.c.owner_id == owner_id, former_name.c.lower_name == lower_name)
    )


async def change(db: Executor, repository_id: int, **values: Any) -> bool:
    """Change columns and the time of the last change; whether the repository is there."""
    changed = await db.execute(
        update(repository).where(repository.c.id == repository_id).values(updated_at=now(), **values)
    )
    return changed.rowcount == 1


async def set_open_issues(db: Executor, repository_id: int, count: int) -> None:
    await db.execute(
        update(repository).where(repository.c.id == repository_id).values(open_issues_count=count)
    )


async def count_forks(db: Executor, repository_id: int) -> None:
    """Bring ``forks_count`` up to date."""
    forks = repository.alias("forks")
    counted = (
        select(func.count())
        .select_from(forks)
        .where(forks.c.fork_of == repository_id, forks.c.state == "ready")
        .scalar_subquery()
    )
    await db.execute(update(repository).where(repository.c.id == repository_id).values(forks_count=counted))


async def hold(db: Executor, repository_id: int) -> None:
    """Keep others who ``hold`` the row waiting until the transaction ends."""
    await db.execute(
        update(repository).where(repository.c.id == repository_id).values(updated_at=repository.c.updated_at)
    )


async def fork_of(db: Executor, owner_id: int, parent_id: int) -> int | None:
    """The id of the fork of ``parent_id`` that ``owner_id`` has."""
    found = await db.execute(
        select(repository.c.id).where(
            repository.c.owner_id == owner_id,
            repository.c.fork_of == parent_id,
            repository.c.state != "failed",
        )
    )
    return found.scalar()


async def count_owned(db: Executor, owner_id: int) -> int:
    """How many repositories an account owns; its row is held, so that the number stays true."""
    await db.execute(update(account).where(account.c.id == owner_id).values(id=owner_id))
    counted = await db.execute(
        select(func.count()).select_from(repository).where(repository.c.owner_id == owner_id)
    )
    return int(counted.scalar_one())


async def remove(db: Executor, repository_id: int) -> bool:
    """Delete the row and all that hangs on it; whether it was there."""
    return (await db.execute(delete(repository).where(repository.c.id == repository_id))).rowcount == 1


async def abandoned(db: Executor, before: Any, shard: str) -> list[int]:
    """Ids of repositories of a shard whose creation was begun before that time and never ended."""
    rows = await db.execute(
        select(repository.c.id).where(
            repository.c.state == "creating",
            repository.c.created_at < before,
            repository.c.shard == shard,
        )
    )
    return [row.id for row in rows]
