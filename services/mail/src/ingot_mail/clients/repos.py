"""Calls to repos: access of users, and watchers."""

from ingot_chassis.peers.peers import NoRoute, Peer, segment
from ingot_contracts.repos.access import AccessLevel, Watchers
from ingot_contracts.repos.releases import PublishedRelease
from ingot_contracts.repos.repositories import RepositoryAccess


class HttpRepos:
    """Client of repos' internal API.

    Raises NotFound for objects that are missing or hidden from the caller.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def access(self, owner: str, name: str, principal_token: str) -> RepositoryAccess:
        """Return the named repository, and the access of the caller."""
        path = f"/internal/repositories/by-name/{segment(owner)}/{segment(name)}/access"
        return await self._peer.get(path, RepositoryAccess, principal=principal_token)

    async def access_of_user(self, repository_id: int, account_id: int) -> AccessLevel:
        """Return the access of a user to a repository. The user has not made the request."""
        path = f"/internal/repositories/{repository_id}/level?user={account_id}"
        return await self._peer.get(path, AccessLevel)

    async def release(self, repository_id: int, release_id: int) -> PublishedRelease:
        """Return the current state of a published release.

        Raises Unavailable if repos runs an older release.
        """
        try:
            path = f"/internal/repositories/{repository_id}/releases/{release_id}"
            return await self._peer.get(path, PublishedRelease)
        except NoRoute as error:
            raise error.unavailable("repos") from error

    async def watchers(self, repository_id: int) -> list[int]:
        """Return the ids of the users who watch a repository."""
        return (await self._peer.get(f"/internal/repositories/{repository_id}/watchers", Watchers)).ids
