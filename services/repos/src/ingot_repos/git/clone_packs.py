"""Packs of clones, made by ``git pack-objects`` as ``git upload-pack`` has it make them, but sent on without upload-pack.

upload-pack cuts a pack into packets of 8 KiB and copies it twice, for two fifths of what the pack itself costs. So here the answer to a
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
from ingot_repos.git.sideband import DATA, FATAL, Texts, packets
from ingot_repos.git.smart_http import FLUSH, TIME_LIMIT, pkt_line
from ingot_repos.git.streaming import stream_git

_DELIMITER = b"0001"
_CAPABILITY = re.compile(rb"command=fetch|object-format=sha1|agent=[!-~]*")
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
        [line[4:].removesuffix(b"\n") for line in part]
        for part in (lines[:position], lines[position + 1 : -1])
    )
    others = {argument for argument in arguments if not _WANT.fullmatch(argument)}
    if (
        capabilities.count(b"command=fetch") != 1
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
        wants: ids of objects, a line each. If it raises before the first, nothing is sent.
        max_memory: bytes of private memory of git.

    Raises:
        GitFailed, StorageFull, GitTimedOut: as `stream_git`, after a packet that says so to the client.
        OSError: git could not be started; the same.
    An error of ``wants`` is raised here.
    """
    first_wants = await anext(wants)
    yield pkt_line(b"packfile\n")
    texts = _ComingTexts(path)
    pack = stream_git(
        GitArgs("pack-objects", ("--revs", "--stdout", *options)),
        git_dir=path,
        body=_chain(first_wants, wants),
        time_limit=TIME_LIMIT,
        max_memory=max_memory,
        watch=texts.add,
    )
    try:
        async with contextlib.aclosing(while_in_use(path, pack)) as chunks:
            first = asyncio.ensure_future(anext(chunks, b""))
            first.add_done_callback(lambda _: texts.arrival.set())
            try:
                async for text in texts.packets_before(first):
                    yield text
            finally:
                first.cancel()
                await asyncio.gather(first, return_exceptions=True)
            chunk = first.result()
            del first
            while chunk:
                yield texts.take() + packets(DATA, chunk)
                chunk = await anext(chunks, b"")
        yield texts.take(is_whole=True) + FLUSH
    except (GitError, OSError):
        yield texts.take(is_whole=True) + packets(FATAL, b"the pack could not be made\n")
        raise


async def _chain(first: bytes, others: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for one in others:
        yield one


class _ComingTexts(Texts):
    """Texts that are waited for."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.arrival = asyncio.Event()

    def add(self, text: bytes) -> None:
        super().add(text)
        self.arrival.set()

    async def packets_before(self, end: asyncio.Future[bytes]) -> AsyncGenerator[bytes, None]:
        """Packets, as the lines come, and empty ones in silence, until something else has come."""
        while not end.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_SECONDS):
                    await self.arrival.wait()
            self.arrival.clear()
            if text := self.take():
                yield text
            elif not end.done():
                yield pkt_line(bytes([DATA]))
