"""Connections to the processes that serve the other shards."""

from ingot_chassis.errors import Unavailable
from ingot_chassis.peers.http_client import Origin


class Shards:
    """The other shards by name."""

    def __init__(self, origins: dict[str, Origin]) -> None:
        self._origins = origins

    def origin(self, name: str) -> Origin:
        """Raises Unavailable for a shard that is not in the settings."""
        if name not in self._origins:
            raise Unavailable(f"the repository is on the shard {name}, which is not in INGOT_REPOS_SHARDS")
        return self._origins[name]

    async def close(self) -> None:
        for origin in self._origins.values():
            await origin.close()
