"""Requested teams in the form of the API."""

from ingot_contracts.identity.teams import Team
from ingot_contracts.issues.pulls import RequestedTeam


def requested_team(team: Team) -> RequestedTeam:
    """Return the fields of a team that readers of the pull request may see.

    Other fields are for members only.
    """
    return RequestedTeam(id=team.id, name=team.name)
