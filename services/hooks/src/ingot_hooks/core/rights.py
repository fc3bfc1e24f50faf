"""Whether those who answer for a hook still may: a hook must not outlive the right to have it."""

from ingot_contracts.repos import Level, reaches

LOST_REPOSITORY = "whoever set it up may no longer write to the repository"
LOST_ORGANIZATION = "whoever set it up is no longer in the organization"


def lost_in_repository(held: Level) -> str:
    """Why a hook of a repository must rest when its keeper has ``held``; empty when it goes on."""
    return "" if reaches(held, "write") else LOST_REPOSITORY


def lost_in_organization(organization_id: int, organizations: set[int]) -> str:
    """The same for a hook of an organization, whose members may have hooks."""
    return "" if organization_id in organizations else LOST_ORGANIZATION
