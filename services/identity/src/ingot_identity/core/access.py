"""Who may do what in identity: the one place that decides. ``api/policies.py`` makes policies of these functions.

Membership and ownership are read from the tables, never from the principal, which may be a minute old. An
administrator of the site may do in every organization what its owners may.
"""

from enum import StrEnum
from typing import NamedTuple

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import ANONYMOUS, Principal
from ingot_identity.store import accounts, members, teams
from ingot_identity.store.tables import AccountKind, AccountRow, AccountVisibility, TeamRow


class Level(StrEnum):
    """What a caller may do in an organization."""

    READ = "read"
    MEMBER = "member"
    OWNER = "owner"


class SignIn(StrEnum):
    """How a caller must be signed in."""

    OPTIONAL = "optional"
    REQUIRED = "required"
    BASIC = "basic"
    ADMINISTRATOR = "administrator"


def require_sign_in(principal: Principal, sign_in: SignIn) -> None:
    """Raises Unauthenticated, or Denied for whoever does not administer the site."""
    if sign_in is SignIn.ADMINISTRATOR and not principal.admin:
        raise Denied("only for site administrators; a token needs the scope write:admin")
    if sign_in is not SignIn.OPTIONAL and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if sign_in is SignIn.BASIC and not principal.by_password:
        raise Unauthenticated("only with Basic authentication by password")


def outside_own_account(principal: Principal, *, public: bool) -> Principal:
    """The caller of a route that is not about the caller's own account. ``public``: the route is open to everybody.

    A token that is restricted to repositories reads only its owner's account and what everybody may read. Raises
    Denied.
    """
    if principal.restricted_to is None:
        return principal
    if not public:
        raise Denied("the token is restricted to some repositories and has no access to this")
    return ANONYMOUS


async def user(db: Executor, login: str) -> AccountRow:
    """The user of that name. Everybody may know of every user. Raises NotFound."""
    row = await accounts.get_by_login(db, login)
    if row is None or row.kind != AccountKind.USER:
        raise NotFound
    return row


async def account(db: Executor, principal: Principal, login: str) -> AccountRow:
    """The user or organization of that name, if the caller may know of it. Raises NotFound."""
    row = await accounts.get_by_login(db, login)
    if row is None or not await may_know_of(db, principal, row):
        raise NotFound
    return row


async def organization(db: Executor, principal: Principal, login: str, level: Level) -> AccountRow:
    """The organization of that name, for a caller of that level. Raises NotFound, Denied."""
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
    """A user and an organization, for callers who may know what the user is there.

    These are the user, members of the organization, and administrators. Raises NotFound, Denied.
    """
    row = await organization(db, principal, organization_login, Level.READ)
    other = await user(db, login)
    if other.id != principal.id and not await _is_like_member(db, principal, row.id):
        raise Denied("only for that user and for members of the organization")
    return UserInOrganization(other, row)


async def require_organization_creator(db: Executor, principal: Principal) -> None:
    """Raises Denied for users to whom an administrator has forbidden to create organizations."""
    row = await accounts.get(db, principal.id)
    if row is not None and not row.may_create_organizations and not principal.admin:
        raise Denied("you may not create organizations")


async def require_owner(db: Executor, principal: Principal, organization_id: int) -> None:
    """Raises Denied unless the caller owns the organization, or administers the site."""
    if not principal.admin and not await teams.is_owner(db, organization_id, principal.id):
        raise Denied("only for owners of the organization")


async def team(db: Executor, principal: Principal, team_id: int, level: Level) -> TeamRow:
    """The team, for a caller of that level. Outside the organization a team does not exist. Raises NotFound."""
    row = await teams.get(db, team_id)
    if row is None:
        raise NotFound
    if level == Level.OWNER:
        await require_team_owner(db, principal, row)
    elif not await _is_like_member(db, principal, row.organization_id):
        raise NotFound
    return row


async def require_team_owner(db: Executor, principal: Principal, row: TeamRow) -> None:
    """Raises NotFound unless the caller owns the organization of the team, or administers the site."""
    if not principal.admin and not await teams.is_owner(db, row.organization_id, principal.id):
        raise NotFound


async def sees_concealed_members(db: Executor, principal: Principal, organization_id: int) -> bool:
    """Whether the caller sees members who do not show their membership."""
    return await _is_like_member(db, principal, organization_id)


def require_own_membership(principal: Principal, user_id: int) -> None:
    """Raises Denied for everybody but the member; owners and administrators have no exception."""
    if principal.id != user_id:
        raise Denied("only members decide whether their own membership is public")


def require_own_key(principal: Principal, account_id: int) -> None:
    """Raises Denied when the key belongs to another account, unless the caller is an administrator."""
    if account_id != principal.id and not principal.admin:
        raise Denied("the key belongs to another user")


def require_token(principal: Principal) -> None:
    """Raises Unauthenticated unless the caller came with a token of their own."""
    if not principal.token_id:
        raise Unauthenticated("only with an access token, and not as somebody else")


def require_own_name(principal: Principal, login: str) -> None:
    """Raises NotFound when ``login`` is another account: nobody sees the tokens of others."""
    if login.lower() != principal.name.lower():
        raise NotFound


def require_other_password(principal: Principal, row: AccountRow) -> None:
    """An administrator sets passwords of others; the own one asks a session for the old one. Raises Denied."""
    if _is_own(principal, row) and principal.via == "session":
        raise Denied("change your own password in your settings")


def require_other_second_factor(principal: Principal, row: AccountRow) -> None:
    """An administrator removes second factors of others; the own one with the password alone. Raises Denied."""
    if _is_own(principal, row) and principal.via != "basic":
        raise Denied("remove your own second factor in your settings, or send your password with the request")


def _is_own(principal: Principal, row: AccountRow) -> bool:
    """Whether it is the caller's account, or that of the administrator who acts as somebody else."""
    return row.id == principal.id or row.login.lower() == principal.sudo_by.lower()


async def _is_like_member(db: Executor, principal: Principal, organization_id: int) -> bool:
    return principal.admin or await members.exists(db, organization_id, principal.id)


async def may_know_of(db: Executor, principal: Principal, row: AccountRow) -> bool:
    """Whether the caller may know that the account exists."""
    if row.kind == AccountKind.USER or row.visibility == AccountVisibility.PUBLIC or principal.admin:
        return True
    if row.visibility == AccountVisibility.LIMITED and principal.signed_in:
        return True
    return await members.exists(db, row.id, principal.id)
