"""Packs of clones from ``git pack-objects``, sent without ``git upload-pack`` in between.

upload-pack cuts a pack into packets of 8 KiB and copies it twice. This costs 40% of the time for the pack
itself. So this module answers clients without any objects, with packets of 64 KiB (gitprotocol-v2(5),
`fetch`). upload-pack answers all other requests, such as a shallow clone.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from ingot_git.process.command import GitArgs
from ingot_git.process.errors import GitError
from ingot_git.process.streaming import stream_git
from ingot_git.protocol.fetch_requests import FetchRequest
from ingot_git.protocol.sideband import DATA, FATAL, Texts, packets
from ingot_git.protocol.smart_http import FLUSH, TIME_LIMIT, pkt_line
from ingot_git.storage.packs import while_in_use

_DELIMITER = b"0001"
_CAPABILITY = re.compile(rb"command=fetch|object-format=sha1|agent=[!-~]*")
_ARGUMENTS = {
    b"thin-pack": "--thin",
    b"ofs-delta": "--delta-base-offset",
    b"include-tag": "--include-tag",
    b"no-progress": "--quiet",
}
"""Arguments of a request, and the option of pack-objects for each."""
_WANT = re.compile(rb"want [0-9a-fA-F]{40}")
ALIVE_SECONDS = 5.0
"""Seconds of silence before the pack, after which an empty packet keeps the connection alive."""


def clone_options(request: FetchRequest, path: Path) -> tuple[str, ...] | None:
    """Return the options of pack-objects for a protocol 2 request; None if it is not a full clone.

    Also return None if the repository at ``path`` is shallow: only upload-pack can inform the client about
    the end of the history.
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
    """Yield the response to a request with these ``clone_options``.

    Args:
        path: the bare repository.
        options: options of git pack-objects.
        wants: object ids, one per line. If the iterator fails before the first chunk, nothing is sent.
        max_memory: bytes of private memory of git.

    Raises:
        GitFailed, StorageFull, GitTimedOut: see `stream_git`. The client gets an error packet first.
        OSError: git could not be started; the client gets the same packet.

    Errors of ``wants`` are raised here.
    """
    first_wants = await anext(wants)
    yield pkt_line(b"packfile\n")
    texts = _AwaitableTexts(path)
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


class _AwaitableTexts(Texts):
    """Progress texts that a consumer can wait for."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.arrival = asyncio.Event()

    def add(self, text: bytes) -> None:
        super().add(text)
        self.arrival.set()

    async def packets_before(self, end: asyncio.Future[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield packets of progress lines until ``end`` is done; after silence, yield empty packets."""
        while not end.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_SECONDS):
                    await self.arrival.wait()
            self.arrival.clear()
            if text := self.take():
                yield text
            elif not end.done():
                yield pkt_line(bytes([DATA]))
