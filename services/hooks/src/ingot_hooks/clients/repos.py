"""Calls to repos: access to a repository, and the tip of a branch."""

from ingot_chassis.peers.peers import Peer, segment
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.commits import BranchTip
from ingot_contracts.repos.repositories import RepositoryAccess


class HttpRepos:
    """Client of repos' internal API.

    Raises NotFound for objects that are missing or hidden from the caller.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def access(self, owner: str, name: str, principal_token: str) -> RepositoryAccess:
        """Return the named repository with the level of the caller."""
        path = f"/internal/repositories/by-name/{segment(owner)}/{segment(name)}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal_token)

    async def access_of_user(self, repository_id: int, account_id: int) -> AccessLevel:
        """Return the access of a user to a repository. The user has not made the request."""
        path = f"/internal/repositories/{repository_id}/level?user={account_id}"
        return await self._peer.get(path, AccessLevel)

    async def branch_tip(self, repository_id: int, branch: str, principal_token: str) -> BranchTip:
        """Return the branch with its latest commit."""
        path = f"/internal/repositories/{repository_id}/branches/{segment(branch)}?commit=true"
        return await self._peer.get(path, BranchTip, principal=principal_token)
