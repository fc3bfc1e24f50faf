"""Decides who may see and change hooks, and which hooks may still send.

A hook must not outlive a permission. repos returns the level of a user in a repository, identity the
membership in an organization.
"""

from collections.abc import Sequence
from typing import Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.units import UNITS, Unit, level_in
from ingot_contracts.repos.access import AccessLevel, Level, reaches
from ingot_contracts.repos.repositories import RepositoryAccess

HOOK_LEVEL: Level = "admin"
"""The level that hooks of a repository require."""
Role = Literal["member", "owner"]
"""The required role of a user in an organization."""

LOST_REPOSITORY = "whoever set it up no longer administers the repository"
LOST_ORGANIZATION = "whoever set it up is no longer in the organization"
LOST_ACCOUNT = "the account that it belongs to is not active"
LOST_SERVER = "whoever set it up is no site administrator any more"
FORMER_LOST_REPOSITORY = "whoever set it up may no longer write to the repository"
"""The reason in rows of the last release."""
LOST_PERMISSIONS = (LOST_REPOSITORY, LOST_ORGANIZATION, LOST_ACCOUNT, LOST_SERVER, FORMER_LOST_REPOSITORY)
HIDDEN_REPOSITORY = "whoever set the hook up may not see the repository"


def require_level(principal: Principal, access: RepositoryAccess, level: Level) -> None:
    """Raise Unauthenticated or Denied unless the caller may use the repository at ``level``."""
    # A token for what is public gets an access only to a repository that is.
    if not principal.towards(access.repository.id, public=True).signed_in:
        raise Unauthenticated("sign in to do that")
    if not reaches(access.level, level):
        raise Denied(f"only for people with {level} access to the repository")


def has_role(principal: Principal, membership: Membership | None, role: Role) -> bool:
    """True if the caller may use hooks of an organization that require ``role``.

    False for a token restricted to some repositories, because the hooks get events of all repositories.
    """
    if principal.restricted_to is not None:
        return False
    return principal.admin or (membership is not None and (membership.owner or role == "member"))


def require_role(principal: Principal, account: Account, membership: Membership | None, role: Role) -> None:
    """Raise Denied, or NotFound for a hidden organization, unless the ``membership`` has ``role``."""
    if has_role(principal, membership, role):
        return
    restricted = principal.restricted_to is not None
    is_hidden = account.visibility == "private" or principal.granted_only
    if is_hidden and (membership is None or restricted):
        raise NotFound
    if restricted:
        raise Denied("the token is restricted to some repositories and cannot use hooks of an organization")
    raise Denied(f"only for {role}s of the organization")


def lost_repository(level: Level) -> str:
    """Return the reason to switch off a hook of a repository; empty if its user's ``level`` suffices."""
    return "" if reaches(level, HOOK_LEVEL) else LOST_REPOSITORY


def lost_organization(account: Account, membership: Membership | None) -> str:
    """Return the reason to switch off a hook of an organization; empty to keep it on."""
    return "" if account.active and (account.admin or membership is not None) else LOST_ORGANIZATION


def lost_account(account: Account) -> str:
    """Return the reason to switch off a hook of a user's own repositories; empty to keep it on."""
    return "" if account.active else LOST_ACCOUNT


def lost_server(account: Account) -> str:
    """Return the reason to switch off a hook of the server; empty to keep it on."""
    return "" if account.active and account.admin else LOST_SERVER


def require_own_account(principal: Principal) -> None:
    """Raise Unauthenticated, or Denied for a token restricted to some repositories."""
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if principal.restricted_to is not None:
        raise Denied("the token is restricted to some repositories and cannot use hooks of all")


def require_administrator(principal: Principal) -> None:
    """Raise Denied unless the caller may use the hooks of the server."""
    if not principal.admin or principal.restricted_to is not None:
        raise Denied("only for site administrators")


def sees(access: AccessLevel, event: str) -> bool:
    """True if the access allows the user to read the content of an event of a repository."""
    units = _units_of(event)
    return all(access.of(unit) != "none" for unit in units) if units else access.of(None) != "none"


def sees_all_repositories(account: Account, membership: Membership | None, event: str) -> bool:
    """True if a user gets these events of every repository of an organization, including deleted ones.

    True for site administrators, owners, and members of teams with all repositories. Other members get events
    of repositories that they can read.
    """
    if not account.active or membership is None:
        return account.active and account.admin
    units = _units_of(event)
    levels = [level_in(membership.everywhere, unit) for unit in units or UNITS]
    entire = "none" not in levels if units else set(levels) != {"none"}
    return account.admin or membership.owner or entire


def _units_of(event: str) -> Sequence[Unit]:
    """Return the units that a reader of an event must be able to read, all of them.

    Empty if read access to any unit is enough.
    """
    return next((units for prefix, units in _UNITS_OF_EVENTS.items() if event.startswith(prefix)), ())


_UNITS_OF_EVENTS: dict[str, tuple[Unit, ...]] = {
    "pull_request": ("code", "pulls"),
    "issue": ("issues",),
    "release": ("releases",),
    "wiki": ("wiki",),
    "create": ("code",),
    "push": ("code",),
    "delete": ("code",),
    "status": ("code",),
}
"""Units by the beginning of an event type. Other types, such as ``repository``, belong to no unit."""
