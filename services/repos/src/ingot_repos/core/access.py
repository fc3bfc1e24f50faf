"""Who may do what to a repository: the one function that decides, for API, git and peers. Default deny."""

from typing import Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import ANONYMOUS, Principal
from ingot_contracts.identity import Team
from ingot_contracts.repos import LEVELS, Level, reaches
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.states import Visibility
from ingot_repos.store.viewers import Viewer

RequiredLevel = Level | Literal["signed-in"]
"""``signed-in``: read access, and not anonymous."""


def level(row: RepositoryRow, principal: Principal) -> Level:
    """What ``principal`` may do to the repository of ``row``, which was read for their ``viewer``."""
    principal = principal.towards(row.id)
    if principal.admin:
        return "owner"
    levels: list[Level] = ["none"]
    if not row.private and is_visible(row.owner_id, row.owner_visibility, principal):
        levels.append("read")
    if principal.signed_in:
        membership = principal.organizations.get(row.owner_id)
        if row.owner_id == principal.id or (membership and membership.owner):
            return "owner"
        if row.mode:
            levels.append(_as_level(row.mode))
        if membership and membership.everywhere:
            levels.append(_as_level(membership.everywhere))
        if row.granted and membership:
            granted = {int(team) for team in row.granted.split(",")}
            levels += [_as_level(mode) for team, mode in membership.teams.items() if team in granted]
    return max(levels, key=LEVELS.index)


def level_of_deploy_key(required: RequiredLevel, *, read_only: bool) -> Level:
    """What a deploy key of the repository may do to it. Raises Denied unless that is enough."""
    level_: Level = "read" if read_only else "write"
    if not suffices(level_, required):
        raise Denied("the deploy key may only read")
    return level_


def is_visible(account_id: int, visibility: Visibility, principal: Principal) -> bool:
    """Whether ``principal`` may know of an account."""
    if visibility == Visibility.PUBLIC or principal.admin:
        return True
    if visibility == Visibility.LIMITED:
        return principal.signed_in
    return principal.signed_in and (account_id == principal.id or account_id in principal.organizations)


def suffices(level_: Level, required: RequiredLevel) -> bool:
    """Whether a level is enough; for ``signed-in`` only whether it is read access."""
    return reaches(level_, "read" if required == "signed-in" else required)


def require(row: RepositoryRow, level_: Level, required: RequiredLevel, principal: Principal) -> None:
    """Raises NotFound, Unauthenticated or Denied, in this order, unless the level of ``principal`` is enough."""
    if level_ == "none":
        raise NotFound
    if required != "read":
        require_signed_in(principal)
    if required != "read" and not principal.towards(row.id).signed_in:
        raise Denied("the token is restricted to other repositories")
    if not suffices(level_, required):
        raise Denied(f"needs {required} access to the repository")


def require_signed_in(principal: Principal) -> None:
    """Raises Unauthenticated for an anonymous caller."""
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")


def knows_team(team: Team, principal: Principal) -> bool:
    """Whether ``principal`` may know of a team: members of its organization, and site administrators."""
    principal = towards_accounts(principal)
    return principal.admin or team.organization_id in principal.organizations


def knows_teams_of(row: RepositoryRow, level_: Level, principal: Principal) -> bool:
    """Whether ``principal`` at this level may know of the teams of a repository: its administrators may, too."""
    if principal.restricted_to is not None:
        return False
    return reaches(level_, "admin") or row.owner_id in principal.organizations


def has_everything(team: Team) -> bool:
    """Whether the team has every repository of its organization, as Owners always has."""
    return team.permission == "owner" or team.includes_all_repositories


def creates(team: Team) -> bool:
    """Whether its members may create repositories of its organization."""
    return team.permission == "owner" or team.can_create_org_repo


def require_unarchived(row: RepositoryRow) -> None:
    """Raises Denied for an archived repository, whose contents do not change."""
    if row.archived:
        raise Denied("the repository is archived")


def may_create_in(organization: AccountRow, principal: Principal, *, any_member: bool) -> bool:
    """Whether ``principal`` may create repositories of an organization: its owners, and members of teams that say so.

    With ``any_member`` every member.
    """
    membership = principal.organizations.get(organization.id)
    if membership is None:
        return principal.admin
    return principal.admin or membership.owner or membership.creates or any_member


def mode_of_creator(owner: AccountRow, principal: Principal) -> str:
    """What who creates a repository of ``owner`` gets as a collaborator; empty when they administer it anyway."""
    membership = principal.organizations.get(owner.id)
    if principal.admin or membership is None or membership.owner or membership.everywhere == "admin":
        return ""
    return "admin"


def require_may_create_in(organization: AccountRow, principal: Principal, *, any_member: bool) -> None:
    """Raises Denied unless they may; NotFound, when the organization is private and they are not in it."""
    if may_create_in(organization, principal, any_member=any_member):
        return
    if organization.visibility == Visibility.PRIVATE and organization.id not in principal.organizations:
        raise NotFound
    words = "only for owners of the organization, and for members of teams that create repositories"
    raise Denied("only for its members" if any_member else words)


def towards_accounts(principal: Principal) -> Principal:
    """Who they are to accounts and teams: nobody, with a token that is restricted to repositories."""
    return principal if principal.restricted_to is None else ANONYMOUS


def require_unrestricted(principal: Principal) -> None:
    """Raises Denied for a token that is restricted to some repositories: it may not create or transfer any."""
    if principal.restricted_to is not None:
        raise Denied("the token is restricted to some repositories and cannot create or transfer one")


def acts_for(principal: Principal, account_id: int) -> bool:
    """Whether ``principal`` may answer for an account: it is theirs, or they own the organization, or the site."""
    principal = towards_accounts(principal)
    membership = principal.organizations.get(account_id)
    is_own = principal.signed_in and principal.id == account_id
    return principal.admin or is_own or (membership is not None and membership.owner)


def viewer(principal: Principal) -> Viewer:
    """What SQL needs to read rows for ``level``, and to leave out rows that ``principal`` may not see."""
    organizations = principal.organizations
    return Viewer(
        id=principal.id,
        admin=principal.admin,
        entire=[id_ for id_, one in organizations.items() if one.owner or one.everywhere],
        inside=list(organizations),
        teams=[team for membership in organizations.values() for team in membership.teams],
        restricted_to=principal.restricted_to,
    )


def _as_level(mode: str) -> Level:
    return next((level for level in LEVELS if level == mode), "none")
