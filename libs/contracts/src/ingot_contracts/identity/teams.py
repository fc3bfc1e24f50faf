"""Teams and their members."""

from typing import Annotated

import msgspec

MOST_MEMBERS = 1000
"""Maximum number of users, and of teams, per request for members."""


class FindMembers(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/organizations/{id}/members: filter the users ``ids`` by membership in the organization.

    With ``team_ids``, return only members of one of these teams.
    """

    ids: Annotated[list[int], msgspec.Meta(max_length=MOST_MEMBERS)]
    team_ids: Annotated[list[int], msgspec.Meta(max_length=MOST_MEMBERS)] | None = None


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/teams/{id}, and a list of teams from GET /internal/organizations/{id}/teams.

    ``permission`` is none, read, write, admin or owner: the lowest level above none that the team has in a
    unit. ``units`` have the names of the API: ``repo.code``. ``units_map`` has the level for each unit; from
    an older release it is empty. The team Owners has the permission owner and all units.
    """

    id: int
    organization_id: int
    name: str
    permission: str
    description: str = ""
    units: list[str] = []
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False
    units_map: dict[str, str] = {}


OWNERS = "Owners"
"""The team that every organization has. It has access to all repositories of the organization."""
