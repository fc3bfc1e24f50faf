"""Calls to repos: access to a repository, and the tip of a branch."""

from ingot_chassis.peers.peers import Peer, segment
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.commits import BranchTip
from ingot_contracts.repos.repositories import RepositoryAccess


class HttpRepos:
    """Repos through its internal API. What does not exist, or is hidden from the caller, is NotFound."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def access(self, owner: str, name: str, principal_token: str) -> RepositoryAccess:
        """The repository of that name, and the level at which the caller may use it."""
        path = f"/internal/repositories/by-name/{segment(owner)}/{segment(name)}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal_token)

    async def access_of_user(self, repository_id: int, account_id: int) -> AccessLevel:
        """The access of a user to a repository, without a request of that user."""
        path = f"/internal/repositories/{repository_id}/level?user={account_id}"
        return await self._peer.get(path, AccessLevel)

    async def branch_tip(self, repository_id: int, branch: str, principal_token: str) -> BranchTip:
        """The branch with the commit that it points to."""
        path = f"/internal/repositories/{repository_id}/branches/{segment(branch)}?commit=true"
        return await self._peer.get(path, BranchTip, principal=principal_token)
