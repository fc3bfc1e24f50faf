"""Teams and their members."""

from typing import Annotated, Literal

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


_Id = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
MOST_IMPORTED_MEMBERS = 100
"""Maximum number of users who join an imported team in one request."""


class ImportTeam(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/organizations/{id}/imported-teams: a team of an import, and ``members`` who join it.

    ``source_id`` names the team in its import: a later request with the same ids finds the same team. The
    permission is "owner" for the owners of the organization. ``units_map`` has the levels of a team without
    the permission admin or owner.

    ``is_new``: the import has created the organization. In an existing organization no team gets all
    repositories or may create repositories, and the owners stay. If the organization is private, only its
    members join teams.

    ``addresses`` has the addresses by which members were found. A user who has not confirmed this address
    does not join. ``requested_by`` is the administrator who imports, for the audit log; 0 from an older
    release.
    """

    import_id: _Id
    source_id: _Id
    name: str
    description: str = ""
    permission: Literal["none", "admin", "owner"] = "none"
    units_map: dict[str, Literal["none", "read", "write"]] = {}
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False
    is_new: bool = False
    members: Annotated[list[_Id], msgspec.Meta(max_length=MOST_IMPORTED_MEMBERS)] = []
    addresses: dict[_Id, str] = {}
    requested_by: _Id = 0


class ImportedTeam(msgspec.Struct, frozen=True, kw_only=True):
    """The team of the import. ``members`` are the requested members who are in it.

    Without a team, ``id`` is 0, and ``reason`` is one of:

    - "taken": another team has the name.
    - "name": no team may have the name.
    - "owners": the organization existed before its import.
    - "deleted": the team was deleted here.
    """

    id: int = 0
    members: list[int] = []
    reason: Literal["", "taken", "name", "owners", "deleted"] = ""


OWNERS = "Owners"
"""The team that every organization has. It has access to all repositories of the organization."""
