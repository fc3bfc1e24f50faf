"""What repos asks identity: accounts that are missing here, and memberships before a *no*; and what it tells: who owns."""

from typing import Protocol

import msgspec

from ingot_chassis.errors import NotFound
from ingot_chassis.peers import Peers, segment
from ingot_chassis.principal import Membership
from ingot_contracts.identity import Account, Ownership, Team


class Identity(Protocol):
    """The calls that repos needs."""

    async def account(self, account_id: int) -> Account | None: ...

    async def account_by_name(self, login: str) -> Account | None: ...

    async def organizations(self, account_id: int) -> dict[int, Membership]: ...

    async def team(self, team_id: int) -> Team | None: ...

    async def public_organizations(self, account_id: int) -> dict[int, Membership]: ...

    async def own(self, repository_id: int, ownership: Ownership) -> None: ...


class IdentityOverPeers:
    """Looks the peer up with each call: in one process it comes to be after this service."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def account(self, account_id: int) -> Account | None:
        return await self._one(f"/internal/accounts/{account_id}")

    async def account_by_name(self, login: str) -> Account | None:
        return await self._one(f"/internal/accounts/by-name/{segment(login)}")

    async def organizations(self, account_id: int) -> dict[int, Membership]:
        """What a user is in each organization now."""
        path = f"/internal/accounts/{account_id}/organizations"
        return await self._peers["identity"].get(path, dict[int, Membership])

    async def public_organizations(self, account_id: int) -> dict[int, Membership]:
        """The same, where the user shows the membership."""
        path = f"/internal/accounts/{account_id}/organizations?public=true"
        return await self._peers["identity"].get(path, dict[int, Membership])

    async def team(self, team_id: int) -> Team | None:
        try:
            return await self._peers["identity"].get(f"/internal/teams/{team_id}", Team)
        except NotFound:
            return None

    async def own(self, repository_id: int, ownership: Ownership) -> None:
        """Tell whose a repository is. Raises NotFound when its owner is gone, Unavailable."""
        path = f"/internal/repositories/{repository_id}"
        await self._peers["identity"].call("PUT", path, msgspec.json.encode(ownership))

    async def _one(self, path: str) -> Account | None:
        try:
            return await self._peers["identity"].get(path, Account)
        except NotFound:
            return None
