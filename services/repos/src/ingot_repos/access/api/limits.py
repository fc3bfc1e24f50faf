"""Bounds of the archives that git makes for one caller."""

from collections.abc import AsyncGenerator

from ingot_chassis.http.concurrency import ConcurrencyQueue, caller_of
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.admission import inside


def archive_within_limits(
    repository_id: int, request: RepositoryRequest, stream: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Yield an archive once its git has a slot. A caller has few slots at once.

    Raises Unavailable, TooManyRequests.
    """
    queue, caller = request.part(ConcurrencyQueue), caller_of(request.principal)
    return inside(queue.slot(caller), inside(request.git_slot(repository_id), stream))
