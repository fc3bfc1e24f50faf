"""For repos and issues: who is in the teams of an organization, and whom an account blocks."""

from litestar import get

from ingot_chassis.http.policy import services
from ingot_identity.api.fields import Ids
from ingot_identity.api.request import IdentityRequest
from ingot_identity.store import blocks, teams

PEERS = services("repos", "issues")


@get(
    "/internal/organizations/{organization_id:int}/team-members",
    policy=PEERS,
    include_in_schema=False,
)
async def members_of_teams(
    request: IdentityRequest, organization_id: int, ids: Ids | None = None, write: bool = False
) -> list[int]:
    """The users in these teams of an organization, and in those that have all repositories of it, as the owners' team.

    With ``?write=true`` of those that may write.
    """
    async with request.db.read() as db:
        return await teams.members_of_teams(db, organization_id, ids or [], write=write)


@get("/internal/teams/{team_id:int}/members", policy=PEERS, include_in_schema=False)
async def members_of_team(request: IdentityRequest, team_id: int) -> list[int]:
    """The users in one team. Of a team that does not exist nobody."""
    async with request.db.read() as db:
        return sorted(await teams.member_ids(db, team_id))


@get("/internal/accounts/{account_id:int}/blocks/{user_id:int}", policy=PEERS, include_in_schema=False)
async def is_blocked(request: IdentityRequest, account_id: int, user_id: int) -> bool:
    """Whether the account blocks the user."""
    async with request.db.read() as db:
        return await blocks.exists(db, account_id, user_id)


routes = [members_of_teams, members_of_team, is_blocked]
