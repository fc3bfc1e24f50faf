"""`git archive --remote`: git makes an archive of a branch or tag, of nothing else (git-upload-archive(1))."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from ingot_repos.git.command import GitArgs
from ingot_repos.git.configuration import HIDDEN_REFS
from ingot_repos.git.push_requests import replayed
from ingot_repos.git.streaming import stream_git

_MAX_REQUEST = 64 * 1024
_FOLDERS = "|".join(re.escape(prefix.removeprefix("refs/")) for prefix in HIDDEN_REFS)
_OF_THE_SERVICE = re.compile(rb"argument (refs/)?(%b)" % _FOLDERS.encode())
_REFUSED = b"no such ref"


async def upload_archive(path: Path, body: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The answer to a session of git-upload-archive. Refs of the service itself are not there.

    Raises, while iterating, as `stream_git`.
    """
    request = b""
    async for chunk in body:
        request += chunk
        if request.endswith(b"0000") or len(request) > _MAX_REQUEST:
            break
    if len(request) > _MAX_REQUEST or _OF_THE_SERVICE.search(request):
        line = b"NACK " + _REFUSED + b"\n"
        yield b"%04x%b" % (len(line) + 4, line)
        return
    async for chunk in stream_git(
        GitArgs("upload-archive", (), (str(path),)), body=replayed(request, body), drain=False
    ):
        yield chunk
