"""Who answers what only reads git's files: the shard of the repository, or a replica that has all that was announced."""

import asyncio

from ingot_repos.api.request import RepositoryRequest
from ingot_repos.api.shards import FORWARDED_BY
from ingot_repos.core.placements import OnAnotherShard
from ingot_repos.git.replicas import read_stamp
from ingot_repos.store import replicas

READS = frozenset(("GET", "HEAD"))


async def require_replica(request: RepositoryRequest, repository_id: int, other: OnAnotherShard) -> None:
    """Return where this shard has a replica that may answer. Raises OnAnotherShard, as ``other``, with others that may.

    What another shard has forwarded goes to the shard of the repository alone, so that nothing goes round in circles.
    """
    async with request.db.read() as db:
        current = {row.shard: row.stamp for row in await replicas.list_current(db, repository_id)}
    stamp = current.pop(request.settings.shard, "")
    if stamp and await asyncio.to_thread(read_stamp, request.storage.path(repository_id)) == stamp:
        return
    if request.headers.get(FORWARDED_BY):
        raise other
    raise OnAnotherShard(other.shard, sorted(current))
