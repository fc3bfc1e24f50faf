"""`git archive --remote`: git makes an archive of a branch or tag, of nothing else (git-upload-archive(1))."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from ingot_repos.git.command import GitArgs
from ingot_repos.git.configuration import HIDDEN_REFS
from ingot_repos.git.packs import while_in_use
from ingot_repos.git.push_requests import replayed
from ingot_repos.git.smart_http import FLUSH, pkt_line
from ingot_repos.git.streaming import stream_git

_MAX_REQUEST = 64 * 1024
_FOLDERS = "|".join(re.escape(prefix.removeprefix("refs/")) for prefix in HIDDEN_REFS)
_OF_THE_SERVICE = re.compile(rb"argument (refs/)?(%b)" % _FOLDERS.encode())


async def read_archive_request(body: AsyncIterator[bytes]) -> bytes | None:
    """What the client asks for; None if no ref that it may see has that name. Refs of the service itself are not there."""
    request = b""
    async for chunk in body:
        request += chunk
        if request.endswith(FLUSH) or len(request) > _MAX_REQUEST:
            break
    return None if len(request) > _MAX_REQUEST or _OF_THE_SERVICE.search(request) else request


def refusal_of_archive(reason: str) -> bytes:
    """What the client gets in place of an archive."""
    return pkt_line(f"NACK {reason}\n".encode())


def upload_archive(
    path: Path, request: bytes, rest: AsyncIterator[bytes], *, max_memory: int | None
) -> AsyncGenerator[bytes, None]:
    """The answer to ``request`` of `read_archive_request`, behind which the client says ``rest``.

    ``max_memory``: see `spawn`. Raises, while iterating, as `stream_git`.
    """
    args, body = GitArgs("upload-archive", (), (str(path),)), replayed(request, rest)
    return while_in_use(path, stream_git(args, body=body, max_memory=max_memory, drain=False))
