"""The decision about access to a repository, for the API, git and peers. Access is denied by default."""

from collections.abc import Sequence
from typing import Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.teams import Team
from ingot_contracts.identity.units import UNITS, Unit, level_in
from ingot_contracts.repos.access import LEVELS, SERVED_UNITS, AccessLevel, Level, reaches
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import AccountKind, Visibility
from ingot_repos.catalog.store.viewers import Viewer

RequiredLevel = Level | Literal["signed-in"]
"""``signed-in`` means read access of a caller who is not anonymous."""


def access_to(row: RepositoryRow, principal: Principal) -> AccessLevel:
    """Return the access of ``principal``. ``row`` must have been read with the principal's ``viewer``."""
    principal = principal.towards(row.id, public=is_public(row))
    if principal.admin:
        return AccessLevel(level="owner")
    permissions = ["none"]
    if not (row.private or principal.granted_only) and is_visible(
        row.owner_id, row.owner_visibility, principal
    ):
        permissions.append("read")
    if principal.signed_in:
        membership = principal.organizations.get(row.owner_id)
        if row.owner_id == principal.id or (membership and membership.owner):
            return AccessLevel(level="owner")
        if row.mode:
            permissions.append(row.mode)
        if membership and membership.everywhere:
            permissions.append(membership.everywhere)
        if row.granted and membership:
            granted = {int(team) for team in row.granted.split(",")}
            permissions += [permission for team, permission in membership.teams.items() if team in granted]
    return _sum_of(permissions)


def level(row: RepositoryRow, principal: Principal) -> Level:
    """Return the level of ``principal`` for the code. ``row`` must be read as for ``access_to``."""
    return access_to(row, principal).of("code")


def shown_level(access: AccessLevel) -> Level:
    """Return the one level that the API shows for a repository.

    It is the lowest level of all units, ignoring units without access; "none" without any access.
    """
    levels = {access.level, *access.units.values()} - {"none"}
    return min(levels, key=LEVELS.index, default="none")


def _sum_of(permissions: Sequence[str]) -> AccessLevel:
    """Return the combined access of all permissions.

    A permission by unit gives write access at most, because only a whole repository can be administered.
    """
    whole = [one for one in permissions if one in LEVELS]
    by_unit = [one for one in permissions if one not in LEVELS]
    least = max((_as_level(one) for one in whole), key=LEVELS.index)
    if not by_unit or reaches(least, "admin"):
        return AccessLevel(level=least)
    units: dict[Unit, Level] = {}
    for unit in UNITS:
        most = max((_as_level(level_in(one, unit)) for one in by_unit), key=LEVELS.index)
        units[unit] = max(least, min(most, "write", key=LEVELS.index), key=LEVELS.index)
    in_all = min((units[unit] for unit in SERVED_UNITS), key=LEVELS.index)
    return AccessLevel(level=in_all, units={unit: own for unit, own in units.items() if own != in_all})


def access_of_deploy_key(required: RequiredLevel, *, read_only: bool) -> AccessLevel:
    """Return the access of a deploy key of the repository. Raises Denied if it is lower than required."""
    level_: Level = "read" if read_only else "write"
    if not suffices(level_, required):
        raise Denied("the deploy key may only read")
    return AccessLevel(level=level_)


def is_public(row: RepositoryRow) -> bool:
    """Return whether every caller may read the repository."""
    return not row.private and row.owner_visibility == Visibility.PUBLIC


def is_visible(account_id: int, visibility: Visibility, principal: Principal) -> bool:
    """Return whether ``principal`` may see an account by its visibility or as a member.

    This ignores that restricted users see only their own organizations: ``may_see`` checks that.
    """
    if visibility == Visibility.PUBLIC or principal.admin:
        return True
    if visibility == Visibility.LIMITED:
        return principal.signed_in
    return principal.signed_in and (account_id == principal.id or account_id in principal.organizations)


def may_see(row: AccountRow, principal: Principal) -> bool:
    """Return whether ``principal`` may see a user or organization."""
    if row.kind == AccountKind.ORGANIZATION and principal.granted_only:
        return row.id in principal.organizations
    return is_visible(row.id, row.visibility, principal)


def suffices(level_: Level, required: RequiredLevel) -> bool:
    """Return whether a level is as high as required. ``signed-in`` requires the level ``read`` here."""
    return reaches(level_, "read" if required == "signed-in" else required)


def require(row: RepositoryRow, level_: Level, required: RequiredLevel, principal: Principal) -> None:
    """Raise NotFound, Unauthenticated or Denied, checked in this order, unless the level is high enough."""
    if level_ == "none":
        raise NotFound
    if required != "read":
        require_signed_in(principal)
    if required != "read" and not principal.towards(row.id, public=is_public(row)).signed_in:
        raise Denied("the token is restricted to other repositories")
    if not suffices(level_, required):
        raise Denied(f"needs {required} access to the repository")


def require_signed_in(principal: Principal) -> None:
    """Raise Unauthenticated for an anonymous caller."""
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")


def knows_team(team: Team, principal: Principal) -> bool:
    """Return whether ``principal`` may see a team.

    Members of its organization and site administrators may see it.
    """
    principal = towards_accounts(principal)
    return principal.admin or team.organization_id in principal.organizations


def knows_teams_of(row: RepositoryRow, level_: Level, principal: Principal) -> bool:
    """Return whether ``principal`` may see the teams of a repository.

    Members of the organization and administrators of the repository may see them. Restricted tokens may not.
    """
    if principal.restricted_to is not None:
        return False
    return reaches(level_, "admin") or row.owner_id in principal.organizations


def has_everything(team: Team) -> bool:
    """Return whether the team has all repositories of its organization. The team Owners always has all."""
    return team.permission == "owner" or team.includes_all_repositories


def writes_code(team: Team) -> bool:
    """Return whether the team may write the code of its repositories."""
    in_code = team.units_map.get("repo.code", "none") if team.units_map else team.permission
    return in_code in ("write", "admin", "owner")


def creates(team: Team) -> bool:
    """Return whether members of the team may create repositories in its organization."""
    return team.permission == "owner" or team.can_create_org_repo


def require_unarchived(row: RepositoryRow) -> None:
    """Raise Denied if the repository is archived, because its contents must not change."""
    if row.archived:
        raise Denied("the repository is archived")


def may_create_in(organization: AccountRow, principal: Principal, *, any_member: bool) -> bool:
    """Return whether ``principal`` may create repositories in an organization.

    Owners, members of teams with this right and site administrators are allowed. ``any_member`` allows every
    member.
    """
    membership = principal.organizations.get(organization.id)
    if membership is None:
        return principal.admin
    return principal.admin or membership.owner or membership.creates or any_member


def mode_of_creator(owner: AccountRow, principal: Principal) -> str:
    """Return the mode that the creator of a repository gets as a collaborator.

    Empty if the creator administers the repository without it.
    """
    membership = principal.organizations.get(owner.id)
    if principal.admin or membership is None or membership.owner or membership.everywhere == "admin":
        return ""
    return "admin"


def require_may_create_in(organization: AccountRow, principal: Principal, *, any_member: bool) -> None:
    """Raise Denied unless ``principal`` may create repositories in the organization.

    Raises NotFound if ``principal`` may not see the organization.
    """
    if may_create_in(organization, principal, any_member=any_member):
        return
    if not may_see(organization, principal):
        raise NotFound
    words = "only owners and members of teams with this right may create repositories in the organization"
    raise Denied("only members of the organization may do that" if any_member else words)


def towards_accounts(principal: Principal) -> Principal:
    """Return the principal that accesses accounts and teams.

    A token restricted to repositories acts as an anonymous caller there.
    """
    return principal if principal.restricted_to is None else principal.unidentified()


def require_unrestricted(principal: Principal) -> None:
    """Raise Denied if the token is restricted to some repositories.

    Such a token may not create or transfer a repository.
    """
    if principal.restricted_to is not None:
        raise Denied("the token is restricted to some repositories and cannot create or transfer one")


def acts_for(principal: Principal, account_id: int) -> bool:
    """Return whether ``principal`` may act for an account.

    True for the account itself, for owners of the organization and for site administrators.
    """
    principal = towards_accounts(principal)
    membership = principal.organizations.get(account_id)
    is_own = principal.signed_in and principal.id == account_id
    return principal.admin or is_own or (membership is not None and membership.owner)


def viewer(principal: Principal, unit: Unit | None = None) -> Viewer:
    """Return the viewer of ``principal``, by which SQL hides rows and loads the columns for ``access_to``.

    With a ``unit``, only access to that unit counts.
    """
    units = UNITS if unit is None else (unit,)
    organizations = principal.organizations
    return Viewer(
        id=principal.id,
        admin=principal.admin,
        entire=[id_ for id_, one in organizations.items() if one.owner or _opens(one.everywhere, units)],
        inside=list(organizations),
        teams=[
            team
            for membership in organizations.values()
            for team, permission in membership.teams.items()
            if _opens(permission, units)
        ],
        restricted_to=principal.restricted_to,
        public_only=principal.public_only,
        granted_only=principal.granted_only,
    )


def differs_by_unit(principal: Principal) -> bool:
    """Return whether the level of ``principal`` may differ between the units of a repository."""
    memberships = principal.organizations.values()
    return any(
        one not in LEVELS for own in memberships for one in (*own.teams.values(), own.everywhere or "none")
    )


def _opens(permission: str, units: Sequence[Unit]) -> bool:
    """Return whether a permission gives access to at least one of the units."""
    return any(level_in(permission, unit) != "none" for unit in units)


def _as_level(mode: str) -> Level:
    return next((level for level in LEVELS if level == mode), "none")
