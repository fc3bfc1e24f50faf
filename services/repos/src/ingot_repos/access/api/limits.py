"""Limits on the archives that git creates for one caller."""

from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import aclosing
from functools import partial

from ingot_chassis.http.concurrency import ConcurrencyQueue, caller_of
from ingot_git.process.errors import GitTooExpensive
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.archive_cpu import ArchiveCpu

Charge = Callable[[float], None]


def require_archive_budget(request: RepositoryRequest, archive: Hashable) -> None:
    """Check that git may create an archive for the caller.

    Raises GitTooExpensive if the archive was refused in the last 10 minutes. Raises TooManyRequests if the
    caller has used too much CPU time.
    """
    request.part(ArchiveCpu).require(caller_of(request.principal), archive)


async def archive_within_limits(
    repository_id: int,
    request: RepositoryRequest,
    archive: Hashable,
    start: Callable[[Charge], AsyncGenerator[bytes, None]],
) -> AsyncGenerator[bytes, None]:
    """Yield an archive while holding a slot for git, and charge its CPU time to the caller.

    A caller can create few archives at once. ``archive`` identifies the content. Raises Unavailable,
    TooManyRequests, GitTooExpensive. An archive that is too expensive is refused for the next 10 minutes.
    """
    cpu, caller = request.part(ArchiveCpu), caller_of(request.principal)
    async with request.part(ConcurrencyQueue).slot(caller), request.git_slot(repository_id):
        cpu.require(caller, archive)  # other archives may have used it
        try:
            async with aclosing(start(partial(cpu.charge, caller))) as chunks:
                async for chunk in chunks:
                    yield chunk
        except GitTooExpensive:
            cpu.refuse(archive)
            raise
