"""The choice between the shard of a repository and its replicas for reads."""

import asyncio

from ingot_chassis.http.database_request import DatabaseRequest
from ingot_git.storage.replicas import read_stamp
from ingot_git.storage.storage import Storage
from ingot_repos.placement.api.forwarding import FORWARDED_BY
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.placement.store import replicas
from ingot_repos.settings import Settings

READS = frozenset(("GET", "HEAD"))


async def require_replica(request: DatabaseRequest, repository_id: int, other: OnAnotherShard) -> None:
    """Raise OnAnotherShard unless this shard has a current replica.

    The error names other shards with current replicas. A request that was already forwarded goes only to the
    shard of the repository, which prevents loops.
    """
    async with request.db.read() as db:
        current = {row.shard: row.stamp for row in await replicas.list_current(db, repository_id)}
    stamp = current.pop(request.part(Settings).shard, "")
    if stamp and await asyncio.to_thread(read_stamp, request.part(Storage).path(repository_id)) == stamp:
        return
    if request.headers.get(FORWARDED_BY):
        raise other
    raise OnAnotherShard(other.shard, sorted(current))
