"""Internal routes for other shards: folders of this shard that have no row."""

from litestar import get

from ingot_chassis.http.policy import services
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.upkeep.rules import unadopted


@get("/internal/unadopted", policy=services("repos"), include_in_schema=False)
async def list_names(request: RepositoryRequest) -> list[str]:
    """Return the full names of this shard's folders without a row, sorted."""
    return await unadopted.list_unadopted(request.db, request.storage)


routes = [list_names]
