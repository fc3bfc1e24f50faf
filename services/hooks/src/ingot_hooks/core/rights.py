"""Whether those who answer for a hook still may: a hook must not outlive the right to have it."""

from ingot_chassis.principal import Membership
from ingot_contracts.identity import Account
from ingot_contracts.repos import Level, reaches

LOST_REPOSITORY = "whoever set it up may no longer write to the repository"
LOST_ORGANIZATION = "whoever set it up is no longer in the organization"
UNSEEN = "whoever set the hook up may not see the repository"


def lost_in_repository(held: Level) -> str:
    """Why a hook of a repository must rest when its keeper has ``held``; empty when it goes on."""
    return "" if reaches(held, "write") else LOST_REPOSITORY


def lost_in_organization(account: Account, held: Membership | None) -> str:
    """The same for a hook of an organization, whose members may have hooks."""
    return "" if account.active and (account.admin or held is not None) else LOST_ORGANIZATION


def sees_all(account: Account, held: Membership | None) -> bool:
    """Whether somebody may hear of everything in an organization, also of what is gone; members see a part of it."""
    return account.active and (account.admin or (held is not None and held.owner))
