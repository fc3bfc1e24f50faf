"""Rules of access in identity: no other module decides. ``access/api.py`` turns them into policies.

Memberships and ownership are read from the tables, never from the principal, which may be a minute old. A
site administrator has the rights of an owner in every organization.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple, Protocol

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.units import UNIT_LEVELS, UNITS, Unit, UnitLevel, read_levels, write_levels
from ingot_identity.access.store import memberships
from ingot_identity.access.store import teams as team_rows
from ingot_identity.access.store.teams import TeamPermission, TeamRow
from ingot_identity.accounts.rules.edits import get_user
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow


class Level(StrEnum):
    """Rights of a caller in an organization, in ascending order."""

    READ = "read"
    MEMBER = "member"
    OWNER = "owner"


class SignIn(StrEnum):
    """The kind of sign-in that a route requires."""

    OPTIONAL = "optional"
    REQUIRED = "required"
    BASIC = "basic"
    ADMINISTRATOR = "administrator"


def require_sign_in(principal: Principal, sign_in: SignIn) -> None:
    """Raise an error unless the caller has signed in as ``sign_in`` requires.

    Raises:
        Denied: ``sign_in`` is ADMINISTRATOR, and the caller is anonymous or not a site administrator.
        Unauthenticated: otherwise, if the caller is anonymous, or BASIC is required and no password was used.
    """
    if sign_in is SignIn.ADMINISTRATOR and not principal.admin:
        raise Denied("only for site administrators; a token needs the scope write:admin")
    if sign_in is not SignIn.OPTIONAL and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if sign_in is SignIn.BASIC and not principal.by_password:
        raise Unauthenticated("only with Basic authentication by password")


def outside_own_account(principal: Principal, *, public: bool) -> Principal:
    """Return the caller of a route that is not about the caller's own account.

    ``public``: the route is open to every caller. There a caller whose token is restricted to repositories is
    treated as anonymous. On other routes Denied is raised for such a token.
    """
    if principal.restricted_to is None:
        return principal
    if not public:
        raise Denied("the token is restricted to some repositories and has no access to this")
    return principal.unidentified()


async def account(db: Executor, principal: Principal, login: str) -> AccountRow:
    """Return the user or organization of that name, if the caller may see it. Raises NotFound."""
    row = await accounts.get_by_login(db, login)
    if row is None or not await may_know_of(db, principal, row):
        raise NotFound
    return row


async def organization(db: Executor, principal: Principal, login: str, level: Level) -> AccountRow:
    """Return the organization of that name, for a caller of that level. Raises NotFound, Denied."""
    row = await account(db, principal, login)
    if row.kind != AccountKind.ORGANIZATION:
        raise NotFound
    if level == Level.MEMBER and not await _is_like_member(db, principal, row.id):
        raise Denied("only for members of the organization")
    if level == Level.OWNER:
        await require_owner(db, principal, row.id)
    return row


class UserInOrganization(NamedTuple):
    user: AccountRow
    organization: AccountRow


async def user_in_organization(
    db: Executor, principal: Principal, login: str, organization_login: str
) -> UserInOrganization:
    """Return a user and an organization, for callers who may see the user's role in it.

    Allowed are the user, members of the organization, and administrators. Raises NotFound, Denied.
    """
    row = await organization(db, principal, organization_login, Level.READ)
    other = await get_user(db, login)
    if other.id != principal.id and not await _is_like_member(db, principal, row.id):
        raise Denied("only for that user and for members of the organization")
    return UserInOrganization(other, row)


async def require_organization_creator(db: Executor, principal: Principal) -> None:
    """Raise Denied for users whom an administrator has prohibited from creating organizations.

    Site administrators may always create them.
    """
    row = await accounts.get(db, principal.id)
    if row is not None and not row.may_create_organizations and not principal.admin:
        raise Denied("you may not create organizations")


async def require_owner(db: Executor, principal: Principal, organization_id: int) -> None:
    """Raise Denied unless the caller owns the organization, or administers the site."""
    if not principal.admin and not await team_rows.is_owner(db, organization_id, principal.id):
        raise Denied("only for owners of the organization")


async def team(db: Executor, principal: Principal, team_id: int, level: Level) -> TeamRow:
    """Return the team, for a caller of that level. Callers outside the organization cannot see it.

    Raises NotFound.
    """
    row = await team_rows.get(db, team_id)
    if row is None:
        raise NotFound
    if level == Level.OWNER:
        await require_team_owner(db, principal, row)
    elif not await _is_like_member(db, principal, row.organization_id):
        raise NotFound
    return row


async def owned_team(db: Executor, principal: Principal, organization_login: str, team_id: int) -> TeamRow:
    """Return the team of an organization that the caller owns. Raises NotFound."""
    row = await team_rows.get_named(db, organization_login, team_id)
    if row is None:
        raise NotFound
    await require_team_owner(db, principal, row)
    return row


async def require_team_owner(db: Executor, principal: Principal, row: TeamRow) -> None:
    """Raise NotFound unless the caller owns the team's organization, or administers the site."""
    if not principal.admin and not await team_rows.is_owner(db, row.organization_id, principal.id):
        raise NotFound


async def sees_concealed_members(db: Executor, principal: Principal, organization_id: int) -> bool:
    """True if the caller may see members who conceal their membership."""
    return await _is_like_member(db, principal, organization_id)


def require_own_membership(principal: Principal, user_id: int) -> None:
    """Raise Denied for all callers except the member. Owners and administrators are no exception."""
    if principal.id != user_id:
        raise Denied("only members decide whether their own membership is public")


def require_own_key(principal: Principal, account_id: int) -> None:
    """Raise Denied if the key belongs to another account, unless the caller is an administrator."""
    if account_id != principal.id and not principal.admin:
        raise Denied("the key belongs to another user")


def require_token(principal: Principal) -> None:
    """Raise Unauthenticated unless the caller has authenticated with a token, without ``sudo``."""
    if not principal.token_id:
        raise Unauthenticated("only with an access token, and not as somebody else")


def require_own_name(principal: Principal, login: str) -> None:
    """Raise NotFound if ``login`` is another account: tokens are shown only to their owner."""
    if login.lower() != principal.name.lower():
        raise NotFound


def require_other_password(principal: Principal, row: AccountRow) -> None:
    """Raise Denied if an administrator sets their own password from a session, without the old one."""
    if _is_own(principal, row) and principal.via == "session":
        raise Denied("change your own password in your settings")


def require_other_second_factor(principal: Principal, row: AccountRow) -> None:
    """Raise Denied if an administrator removes their own second factor without giving the password."""
    if _is_own(principal, row) and principal.via != "basic":
        raise Denied("remove your own second factor in your settings, or send your password with the request")


def _is_own(principal: Principal, row: AccountRow) -> bool:
    """True for the caller's account, or the account of an administrator who acts as another user."""
    return row.id == principal.id or row.login.lower() == principal.sudo_by.lower()


async def _is_like_member(db: Executor, principal: Principal, organization_id: int) -> bool:
    return principal.admin or await memberships.exists(db, organization_id, principal.id)


async def may_know_of(db: Executor, principal: Principal, row: AccountRow) -> bool:
    """True if the caller may see the account. Every caller sees users, and administrators see everything.

    Other callers see an organization by its visibility, or as its members. A restricted user sees it only as
    a member.
    """
    if row.kind == AccountKind.USER or principal.admin:
        return True
    if row.visibility in memberships.visible_levels(principal):
        return True
    return await memberships.exists(db, row.id, principal.id)


class UnitColumns(Protocol):
    """The columns of a team with its permissions."""

    @property
    def permission(self) -> TeamPermission | None: ...
    @property
    def units(self) -> str: ...
    @property
    def unit_levels(self) -> str: ...


def levels_by_unit(row: UnitColumns) -> dict[Unit, UnitLevel] | None:
    """Return the level of a team for each of its units; None if it has its permission in all units."""
    if row.permission in (TeamPermission.ADMIN, TeamPermission.OWNER):
        return None
    if row.unit_levels:
        return read_levels(row.unit_levels)
    names = row.units.split(",") if row.units else []
    listed = [unit for name in names for unit in UNITS if name == f"repo.{unit}"]
    return {unit: _unit_level(row.permission) for unit in listed} or None


def permission_of_teams(rows: Collection[UnitColumns]) -> str:
    """Return the combined permission of teams as principals have it: one word, or a text of ``write_levels``.

    It is empty if the teams permit nothing.
    """
    words = {row.permission for row in rows if levels_by_unit(row) is None}
    highest = next((word for word in reversed(TeamPermission) if word in words), "")
    by_unit = [levels for row in rows if (levels := levels_by_unit(row)) is not None]
    if not by_unit or highest in (TeamPermission.ADMIN, TeamPermission.OWNER):
        return str(highest)
    by_unit.append(dict.fromkeys(UNITS, _unit_level(highest)))
    levels = {
        unit: max((levels.get(unit, "none") for levels in by_unit), key=UNIT_LEVELS.index) for unit in UNITS
    }
    return write_levels({unit: level for unit, level in levels.items() if level != "none"})


def _unit_level(permission: str | None) -> UnitLevel:
    return next((level for level in UNIT_LEVELS if level == permission), "none")
