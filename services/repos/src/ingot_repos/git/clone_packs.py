"""Packs of clones, made by ``git pack-objects`` as ``git upload-pack`` has it make them, but sent on without upload-pack.

upload-pack cuts a pack into packets of 8 KiB and copies it twice, for a third of what the pack itself costs. So here the answer to a
client that has nothing yet is cut into packets of 64 KiB (gitprotocol-v2(5), `fetch`). Whatever else a client wants, such
as a part of the history, upload-pack answers.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from ingot_repos.git.command import GitArgs
from ingot_repos.git.errors import GitError
from ingot_repos.git.fetch_requests import FetchRequest
from ingot_repos.git.packs import while_in_use
from ingot_repos.git.sideband import DATA, FATAL, PROGRESS, packets
from ingot_repos.git.smart_http import FLUSH, TIME_LIMIT, pkt_line
from ingot_repos.git.streaming import stream_git

_DELIMITER = b"0001"
_CAPABILITY = re.compile(rb"command=fetch|object-format=sha1|agent=.*|session-id=.*", re.DOTALL)
_ARGUMENTS = {
    b"thin-pack": "--thin",
    b"ofs-delta": "--delta-base-offset",
    b"include-tag": "--include-tag",
    b"no-progress": "--quiet",
}
"""Of a request, and the option of pack-objects that each is."""
_WANT = re.compile(rb"want [0-9a-fA-F]{40}")
ALIVE_SECONDS = 5.0
"""Before the pack begins, the client gets a packet after so much silence, so that nobody takes the connection for dead."""


def clone_options(request: FetchRequest, path: Path) -> tuple[str, ...] | None:
    """The options of pack-objects for a request of protocol 2; None if it is not for all that its wants lead to.

    ``path``: of the repository. If its own history is cut off, upload-pack tells the client where.
    """
    lines = list(request.lines())
    if _DELIMITER not in lines or lines[-1] != FLUSH:
        return None
    position = lines.index(_DELIMITER)
    capabilities, arguments = (
        {line[4:].removesuffix(b"\n") for line in part}
        for part in (lines[:position], lines[position + 1 : -1])
    )
    others = {argument for argument in arguments if not _WANT.fullmatch(argument)}
    if (
        b"command=fetch" not in capabilities
        or not all(map(_CAPABILITY.fullmatch, capabilities))
        or not request.wants
        or b"done" not in others
        or not others <= {b"done", *_ARGUMENTS}
        or (path / "shallow").exists()
    ):
        return None
    options = [option for argument, option in _ARGUMENTS.items() if argument in others]
    return (*options, *(() if b"no-progress" in others else ("--progress",)))


async def stream_clone(
    path: Path, options: tuple[str, ...], wants: AsyncIterator[bytes], *, max_memory: int | None = None
) -> AsyncGenerator[bytes, None]:
    """The answer to a request with these ``clone_options``.

    Args:
        path: the bare repository.
        options: of git pack-objects.
        wants: ids of objects, a line each. If it raises at its beginning, the answer is empty.
        max_memory: bytes of private memory of git.

    Raises:
        GitFailed: after the last packet, which says so to the client.
        GitTimedOut: the same, after an hour.
    """
    first_wants = await anext(wants)
    yield pkt_line(b"packfile\n")
    texts = _Texts(path)
    pack = stream_git(
        GitArgs("pack-objects", ("--revs", "--stdout", *options)),
        git_dir=path,
        body=_behind(first_wants, wants),
        time_limit=TIME_LIMIT,
        max_memory=max_memory,
        watch=texts.add,
    )
    try:
        async with contextlib.aclosing(while_in_use(path, pack)) as chunks:
            first = asyncio.ensure_future(anext(chunks, b""))
            first.add_done_callback(lambda _: texts.come.set())
            try:
                async for text in texts.until(first):
                    yield text
            finally:
                first.cancel()
                await asyncio.gather(first, return_exceptions=True)
            yield packets(DATA, first.result())
            async for chunk in chunks:
                yield packets(DATA, chunk)
        yield texts.take() + FLUSH
    except GitError:
        yield texts.take() + packets(FATAL, b"the pack could not be made: the repository may be damaged\n")
        raise


async def _behind(first: bytes, others: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for one in others:
        yield one


class _Texts:
    """What git says to people, without the path of the repository."""

    def __init__(self, path: Path) -> None:
        self._path, self._text = str(path).encode(), bytearray()
        self.come = asyncio.Event()

    def add(self, text: bytes) -> None:
        self._text += text
        self.come.set()

    def take(self) -> bytes:
        """Packets of all that has come."""
        text = bytes(self._text).replace(self._path, b"repository")
        self._text.clear()
        return packets(PROGRESS, text)

    async def until(self, end: asyncio.Future[bytes]) -> AsyncGenerator[bytes, None]:
        """Packets, as the texts come, and empty ones in silence, until something else has come."""
        while not end.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_SECONDS):
                    await self.come.wait()
            self.come.clear()
            if text := self.take():
                yield text
            elif not end.done():
                yield pkt_line(bytes([DATA]))
