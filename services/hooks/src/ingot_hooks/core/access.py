"""Decides who may see and change hooks, and which hooks may still send: a hook must not outlive a permission.

Repos says what a user may do to a repository, identity says what a user is in an organization.
"""

from typing import Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity import Account
from ingot_contracts.repos import Level, RepositoryAccess, reaches

HOOK_LEVEL: Level = "admin"
"""What the hooks of a repository need."""
Role = Literal["member", "owner"]
"""What a user has to be in an organization."""

LOST_REPOSITORY = "whoever set it up no longer administers the repository"
LOST_ORGANIZATION = "whoever set it up is no longer in the organization"
LOST_ACCOUNT = "the account that it belongs to is not active"
LOST_SERVER = "whoever set it up is no site administrator any more"
FORMER_LOST_REPOSITORY = "whoever set it up may no longer write to the repository"
"""In rows of the last release."""
LOST_PERMISSIONS = (LOST_REPOSITORY, LOST_ORGANIZATION, LOST_ACCOUNT, LOST_SERVER, FORMER_LOST_REPOSITORY)
HIDDEN_REPOSITORY = "whoever set the hook up may not see the repository"


def require_level(principal: Principal, access: RepositoryAccess, level: Level) -> None:
    """Raises Unauthenticated or Denied unless the caller may use the repository at ``level``."""
    if not principal.towards(access.repository.id).signed_in:
        raise Unauthenticated("sign in to do that")
    if not reaches(access.level, level):
        raise Denied(f"only for people with {level} access to the repository")


def has_role(principal: Principal, membership: Membership | None, role: Role) -> bool:
    """Whether the caller reaches the hooks of an organization that are for ``role``.

    A token that is restricted to some repositories does not: the hooks get the events of all repositories.
    """
    if principal.restricted_to is not None:
        return False
    return principal.admin or (membership is not None and (membership.owner or role == "member"))


def require_role(principal: Principal, account: Account, membership: Membership | None, role: Role) -> None:
    """``membership`` is what identity says now. Raises Denied, or NotFound for an organization that is hidden."""
    if has_role(principal, membership, role):
        return
    restricted = principal.restricted_to is not None
    if account.visibility == "private" and (membership is None or restricted):
        raise NotFound
    if restricted:
        raise Denied("the token is restricted to some repositories and cannot use hooks of an organization")
    raise Denied(f"only for {role}s of the organization")


def lost_repository(level: Level) -> str:
    """Why a hook of a repository is switched off when its responsible user has ``level``; empty when it is not."""
    return "" if reaches(level, HOOK_LEVEL) else LOST_REPOSITORY


def lost_organization(account: Account, membership: Membership | None) -> str:
    """Why a hook of an organization is switched off when this is its responsible user; empty when it is not."""
    return "" if account.active and (account.admin or membership is not None) else LOST_ORGANIZATION


def lost_account(account: Account) -> str:
    """Why a hook of a user's own repositories is switched off; empty when it is not."""
    return "" if account.active else LOST_ACCOUNT


def lost_server(account: Account) -> str:
    """Why a hook of the server is switched off when this is its responsible user; empty when it is not."""
    return "" if account.active and account.admin else LOST_SERVER


def require_own_account(principal: Principal) -> None:
    """Raises Unauthenticated, or Denied for a token that is restricted to some repositories."""
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if principal.restricted_to is not None:
        raise Denied("the token is restricted to some repositories and cannot use hooks of all")


def require_administrator(principal: Principal) -> None:
    """Raises Denied unless the caller may use the hooks of the server."""
    if not principal.admin or principal.restricted_to is not None:
        raise Denied("only for site administrators")


def sees_all_repositories(account: Account, membership: Membership | None) -> bool:
    """Whether a user gets the events of every repository of an organization, also of deleted ones.

    Owners do, and members of teams that have all repositories. Others get those of what they can read.
    """
    entire = membership is not None and (membership.owner or membership.everywhere != "")
    return account.active and (account.admin or entire)
