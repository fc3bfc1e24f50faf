"""Calls to identity: accounts and teams."""

from urllib.parse import quote

from ingot_chassis.errors import NotFound
from ingot_chassis.peers.peers import Peer, segment
from ingot_chassis.security.grants import GrantCache
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.teams import Team
from ingot_contracts.repos.imports import GHOST_ID


class HttpIdentity:
    """A client of identity's internal API. Raises NotFound for missing objects."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._unblocked: GrantCache[tuple[int, int], bool] = GrantCache()

    async def is_blocked(self, account_id: int, user_id: int) -> bool:
        """Return whether the account blocks the user. The answer False is cached like a grant.

        The ghost account, the author of imported texts, blocks no users.
        """
        if account_id == GHOST_ID:
            return False
        key, since = (account_id, user_id), self._unblocked.clock()
        if self._unblocked.get(key) is not None:
            return False
        blocked = await self._peer.get(f"/internal/accounts/{account_id}/blocks/{user_id}", bool)
        if not blocked:
            self._unblocked.put(key, value=True, since=since)
        return blocked

    async def account(self, account_id: int) -> Account:
        return await self._peer.get(f"/internal/accounts/{account_id}", Account)

    async def membership(self, account_id: int, organization_id: int) -> Membership | None:
        """Return the current membership of a user in an organization, or None."""
        path = f"/internal/accounts/{account_id}/organizations"
        return (await self._peer.get(path, dict[int, Membership])).get(organization_id)

    async def team_ids(self, account_id: int, organization_id: int) -> list[int]:
        """Return the ids of a user's teams in an organization."""
        membership = await self.membership(account_id, organization_id)
        return sorted(membership.teams) if membership is not None else []

    async def team_by_name(self, organization_id: int, name: str) -> Team:
        """Return the team of an organization with this name. Raises NotFound."""
        path = f"/internal/organizations/{organization_id}/teams?name={quote(name, safe='')}"
        teams = await self._peer.get(path, list[Team])
        if not teams:
            raise NotFound
        return teams[0]

    async def team_members(self, team_id: int) -> list[int]:
        """Return the account ids of a team's members."""
        return await self._peer.get(f"/internal/teams/{team_id}/members", list[int])

    async def account_by_name(self, login: str) -> Account:
        return await self._peer.get(f"/internal/accounts/by-name/{segment(login)}", Account)
