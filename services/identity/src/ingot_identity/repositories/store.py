"""SQL for the copy of repositories: their owners, names, and access."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    String,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects import postgresql

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.security.principal import Principal
from ingot_identity.access.store.memberships import membership
from ingot_identity.access.store.teams import has_everything, team, team_member
from ingot_identity.accounts.store.tables import AccountVisibility, account, metadata

owned_repository = Table(
    "owned_repository",
    metadata,
    # A copy from repos. The owner may be an account that was just deleted.
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("owner_id", BigId, nullable=False, index=True),
    Column("name", String(100), nullable=False, default="", server_default=""),
    Column("lower_name", String(100), nullable=False, default="", server_default=""),
    Column("private", Boolean, nullable=False, default=True, server_default=true()),
)


repository_collaborator = Table(
    "repository_collaborator",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("user_id", BigId, primary_key=True, autoincrement=False),
)


repository_team = Table(
    "repository_team",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("team_id", BigId, primary_key=True, autoincrement=False),
)


class NamedRepositoryRow(TypedRow):
    repository_id: int
    name: str
    lower_name: str
    login: str
    lower_login: str


NAMED = owned_repository.join(account, account.c.id == owned_repository.c.owner_id)
"""Repositories joined with their owners."""


_COLUMNS = ("owner_id", "name", "lower_name", "private")
_NEW = postgresql.insert(owned_repository).values(
    {name: bindparam(name) for name in ("repository_id", *_COLUMNS)}
)
_CHANGES = {name: _NEW.excluded[name] for name in _COLUMNS}
_IS_BEFORE = owned_repository.c.owner_id == bindparam("before", type_=BigId)
_SAVE = PreparedWrite(_NEW.on_conflict_do_update(index_elements=["repository_id"], set_=_CHANGES))
_SAVE_AFTER = PreparedWrite(
    _NEW.on_conflict_do_update(index_elements=["repository_id"], set_=_CHANGES, where=_IS_BEFORE)
)


async def save(
    db: Executor, repository_id: int, *, owner_id: int, name: str, private: bool, before: int | None = None
) -> None:
    """Insert or change a repository. With ``before``, change it only if this account still owns it."""
    values: dict[str, Any] = {
        "repository_id": repository_id,
        "owner_id": owner_id,
        "name": name,
        "lower_name": name.lower(),
        "private": private,
    }
    if before is None:
        await _SAVE.run(db, **values)
    else:
        await _SAVE_AFTER.run(db, before=before, **values)


async def save_access(
    db: Executor, repository_id: int, *, collaborators: Collection[int], teams: Collection[int]
) -> None:
    """Replace the collaborators and teams with access to a repository."""
    await _remove_access(db, repository_id)
    people = [{"repository_id": repository_id, "user_id": user} for user in set(collaborators)]
    granted = [{"repository_id": repository_id, "team_id": team_id} for team_id in set(teams)]
    if people:
        await db.execute(repository_collaborator.insert(), people)
    if granted:
        await db.execute(repository_team.insert(), granted)


async def remove(db: Executor, repository_id: int) -> int | None:
    """Delete a repository. Return the id of its owner, or None if it did not exist."""
    await _remove_access(db, repository_id)
    statement = delete(owned_repository).where(owned_repository.c.repository_id == repository_id)
    return (await db.execute(statement.returning(owned_repository.c.owner_id))).scalar()


async def _remove_access(db: Executor, repository_id: int) -> None:
    for table in (repository_collaborator, repository_team):
        await db.execute(delete(table).where(table.c.repository_id == repository_id))


async def owned_by(db: Executor, account_id: int) -> bool:
    """True if the account owns a repository."""
    rows = await db.execute(
        select(owned_repository.c.repository_id).where(owned_repository.c.owner_id == account_id).limit(1)
    )
    return rows.first() is not None


async def count_owned(db: Executor, account_ids: Collection[int]) -> int:
    """Return the number of repositories that the accounts own."""
    statement = select(func.count()).where(owned_repository.c.owner_id.in_(account_ids))
    return int((await db.execute(statement)).scalar_one())


async def get_named(db: Executor, repository_id: int) -> NamedRepositoryRow | None:
    """Return a repository with its owner, or None."""
    statement = (
        select(owned_repository, account.c.login, account.c.lower_login)
        .select_from(NAMED)
        .where(owned_repository.c.repository_id == repository_id)
    )
    return await fetch_first(db, statement, NamedRepositoryRow)


async def named(
    db: Executor, names: Collection[tuple[str, str]], principal: Principal
) -> dict[tuple[str, str], NamedRepositoryRow]:
    """Return the repositories that ``principal`` may see, by owner and name.

    ``names`` are pairs of owner and name in lower case.
    """
    statement = (
        select(owned_repository, account.c.login, account.c.lower_login)
        .select_from(NAMED)
        .where(
            tuple_(account.c.lower_login, owned_repository.c.lower_name).in_(list(names)),
            visible(principal),
        )
    )
    rows = await fetch_all(db, statement, NamedRepositoryRow)
    return {(row.lower_login, row.lower_name): row for row in rows}


def visible(principal: Principal) -> ColumnElement[bool]:
    """Return the condition on ``NAMED`` for repositories that a user may see. repos has the same rules."""
    if principal.admin or principal.granted_only:
        return _granted(principal)
    organizations = select(membership.c.organization_id).where(membership.c.user_id == principal.id)
    visible_owner = or_(
        account.c.visibility.in_((AccountVisibility.PUBLIC, AccountVisibility.LIMITED)),
        account.c.id == principal.id,
        account.c.id.in_(organizations),
    )
    return or_(and_(~owned_repository.c.private, visible_owner), _granted(principal))


async def is_granted(db: Executor, repository_id: int, principal: Principal) -> bool:
    """True if a user has access to the repository other than as a reader of a public repository.

    Owners, collaborators, members of teams with access, and site administrators have it.
    """
    statement = (
        select(owned_repository.c.repository_id)
        .select_from(NAMED)
        .where(owned_repository.c.repository_id == repository_id, _granted(principal))
    )
    return (await db.execute(statement)).first() is not None


def _granted(principal: Principal) -> ColumnElement[bool]:
    if principal.admin:
        return true()
    user_id = principal.id
    teams = select(team_member.c.team_id).where(team_member.c.user_id == user_id)
    entire = select(team.c.organization_id).where(team.c.id.in_(teams), has_everything())
    return or_(
        account.c.id == user_id,
        account.c.id.in_(entire),
        _has_access(repository_collaborator, repository_collaborator.c.user_id == user_id),
        _has_access(repository_team, repository_team.c.team_id.in_(teams)),
    )


def _has_access(table: Table, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(table.c.repository_id == owned_repository.c.repository_id, condition)
