"""An organization with its teams, as identity gives it to repos for an archive."""

import msgspec

from ingot_contracts.identity.accounts import Visibility
from ingot_contracts.identity.teams import Team

MOST_EXPORTED_TEAMS = 10_000
MOST_EXPORTED_MEMBERS = 100_000
"""Limit of members of all teams together. A user counts once for each team."""


class ExportedOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/organizations/{id}/export: the profile as its owners see it, and all teams.

    ``members`` has the logins of the members of each team by the id of the team. The team Owners comes first.
    """

    name: str
    full_name: str = ""
    description: str = ""
    website: str = ""
    location: str = ""
    email: str = ""
    visibility: Visibility = "public"
    teams: list[Team] = []
    members: dict[int, list[str]] = {}
