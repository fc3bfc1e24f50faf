"""What hooks asks repos: what the caller may do to a repository, and where a branch stands."""

from typing import Protocol

from ingot_chassis.errors import NotFound
from ingot_chassis.peers import Peer, segment
from ingot_contracts.repos import NO_COMMIT, BranchTip, HeldLevel, Level, RepositoryAccess


class Repos(Protocol):
    async def access(self, owner: str, name: str, *, principal: str) -> RepositoryAccess:
        """Raises NotFound when the caller may not know of it."""

    async def tip(self, repository_id: int, branch: str, *, principal: str) -> str:
        """The commit that a branch points to; 40 zeros when there is no such branch."""

    async def level(self, repository_id: int, user_id: int) -> Level:
        """What somebody may do who is not calling now."""


class PeerRepos:
    """Repos through its internal API."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def access(self, owner: str, name: str, *, principal: str) -> RepositoryAccess:
        path = f"/internal/repositories/{segment(owner)}/{segment(name)}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal)

    async def tip(self, repository_id: int, branch: str, *, principal: str) -> str:
        if not branch:
            return NO_COMMIT
        path = f"/internal/repositories/{repository_id}/branches/{segment(branch)}"
        try:
            return (await self._peer.get(path, BranchTip, principal=principal)).sha
        except NotFound:
            return NO_COMMIT

    async def level(self, repository_id: int, user_id: int) -> Level:
        path = f"/internal/repositories/by-id/{repository_id}/level?user={user_id}"
        try:
            return (await self._peer.get(path, HeldLevel)).level
        except NotFound:
            return "none"
