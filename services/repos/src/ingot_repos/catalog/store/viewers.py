"""The viewer of repositories in SQL, and the condition for visible repositories.

Conditions depend only on the kind of viewer. Data of one viewer are parameters, so statements can be
prepared.
"""

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, false, literal_column, or_, select

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.tables import account, collaboration, repository, team_grant

IS_CREATED = repository.c.state != literal_column("'creating'")
PUBLIC: ColumnElement[str] = literal_column("'public'")
LIMITED: ColumnElement[str] = literal_column("'limited'")


class ViewerKind(NamedTuple):
    """The properties of a viewer that change the SQL condition.

    ``public_only`` is set only together with ``granted_only``. For other viewers it would change nothing.
    """

    signed_in: bool = False
    admin: bool = False
    in_teams: bool = False
    restricted: bool = False
    public_only: bool = False
    granted_only: bool = False


NOBODY = ViewerKind()


class Viewer(msgspec.Struct, frozen=True):
    """The caller of a request, for conditions in SQL.

    ``inside`` are the caller's organizations. ``entire`` are the organizations in which the caller sees every
    repository. For repositories outside ``restricted_to`` the caller counts as anonymous. With
    ``public_only`` this does not apply to public repositories. With ``granted_only`` no repository is visible
    only because it is public.
    """

    id: int = 0
    admin: bool = False
    entire: list[int] = []
    inside: list[int] = []
    teams: list[int] = []
    restricted_to: list[int] | None = None
    public_only: bool = False
    granted_only: bool = False

    @property
    def kind(self) -> ViewerKind:
        return ViewerKind(
            signed_in=bool(self.id),
            admin=self.admin,
            in_teams=bool(self.teams),
            restricted=self.restricted_to is not None,
            public_only=self.public_only and self.granted_only,
            granted_only=self.granted_only,
        )

    def values(self, name: str = "viewer") -> dict[str, Any]:
        """Return the parameters of conditions for this kind of viewer."""
        return {
            f"{name}_id": self.id,
            f"{name}_entire": [self.id, *self.entire],
            f"{name}_inside": [self.id, *self.inside],
            f"{name}_teams": self.teams,
            f"{name}_repositories": self.restricted_to or [],
        }


def visible(kind: ViewerKind, name: str = "viewer") -> ColumnElement[bool]:
    """Return the condition for the repositories that ``levels.level`` lets the viewer read."""
    if kind.restricted:
        readable = visible(kind._replace(restricted=False), name)
        named = and_(any_of(repository.c.id, f"{name}_repositories"), readable)
        if kind.public_only:
            return or_(named, and_(visible(NOBODY), readable))
        return named if kind.granted_only else or_(named, visible(NOBODY))
    if kind.admin:
        return IS_CREATED
    if kind.granted_only:
        return and_(IS_CREATED, accessible(kind, name)) if kind.signed_in else false()
    open_owner: ColumnElement[bool] = account.c.visibility == PUBLIC
    if kind.signed_in:
        open_owner = or_(account.c.visibility.in_([PUBLIC, LIMITED]), any_of(account.c.id, f"{name}_inside"))
    public = and_(repository.c.private.is_(false()), open_owner)
    return and_(IS_CREATED, or_(public, accessible(kind, name)) if kind.signed_in else public)


def accessible(kind: ViewerKind, name: str = "viewer") -> ColumnElement[bool]:
    """Return the condition for repositories that the viewer owns, or reaches by a membership or grant."""
    of_viewer = collaboration.c.user_id == bindparam(f"{name}_id", type_=BigId)
    ways: list[ColumnElement[bool]] = [
        any_of(repository.c.owner_id, f"{name}_entire"),
        select(collaboration.c.user_id)
        .where(collaboration.c.repository_id == repository.c.id, of_viewer)
        .correlate(repository)
        .exists(),
    ]
    if kind.in_teams:
        of_teams = any_of(team_grant.c.team_id, f"{name}_teams")
        ways.append(
            select(team_grant.c.team_id)
            .where(team_grant.c.repository_id == repository.c.id, of_teams)
            .correlate(repository)
            .exists()
        )
    return or_(*ways)
