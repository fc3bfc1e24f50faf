"""`git archive --remote`: archives of branches and tags only (git-upload-archive(1))."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path

from ingot_git.history.archive import MAX_CPU, archive_environment
from ingot_git.process.bodies import replayed
from ingot_git.process.command import GitArgs
from ingot_git.process.configuration import HIDDEN_REFS
from ingot_git.process.streaming import stream_git
from ingot_git.protocol.smart_http import FLUSH, pkt_line
from ingot_git.storage.packs import while_in_use

_MAX_REQUEST = 64 * 1024
_FOLDERS = "|".join(re.escape(prefix.removeprefix("refs/")) for prefix in HIDDEN_REFS)
_OF_THE_SERVICE = re.compile(rb"argument (refs/)?(%b)" % _FOLDERS.encode())


async def read_archive_request(body: AsyncIterator[bytes]) -> bytes | None:
    """Return the client's request; None if it is too long or names an internal ref."""
    request = b""
    async for chunk in body:
        request += chunk
        if request.endswith(FLUSH) or len(request) > _MAX_REQUEST:
            break
    return None if len(request) > _MAX_REQUEST or _OF_THE_SERVICE.search(request) else request


def refusal_of_archive(reason: str) -> bytes:
    """Return the response that rejects an archive."""
    return pkt_line(f"NACK {reason}\n".encode())


def upload_archive(
    path: Path,
    request: bytes,
    rest: AsyncIterator[bytes],
    *,
    max_memory: int | None,
    charge: Callable[[float], None] | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield the response to ``request`` (from `read_archive_request`). ``rest`` is the rest of the body.

    ``max_memory``: see `spawn`. ``charge``: see `stream_git`. While iterating, this raises the errors of
    `stream_git`.
    """
    args, body = GitArgs("upload-archive", (), (str(path),)), replayed(request, rest)
    stream = stream_git(
        args,
        body=body,
        environment=archive_environment(),
        max_memory=max_memory,
        max_cpu=MAX_CPU,
        charge=charge,
        drain=False,
    )
    return while_in_use(path, stream)
