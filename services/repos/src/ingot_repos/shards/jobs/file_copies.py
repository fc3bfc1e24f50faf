"""Copies of files of a repository from another shard."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ingot_git.storage.copies import IncomingFile, ObjectFile
from ingot_repos.placement.clients import Shards

FILES_AT_ONCE = 1000


async def fetch_files(
    peers: Shards,
    source: str,
    repository_id: int,
    path: Path,
    files: Sequence[ObjectFile],
    count: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    """Fetch files from ``source`` into ``path``. ``count`` is called with the number of new bytes.

    Raises ConnectionError if files are missing, and RepositoryDamaged if a checksum is wrong.
    """
    remaining = iter(files)
    incoming: IncomingFile | None = None
    async for chunk in peers.files(source, repository_id, [file.path for file in files]):
        rest = memoryview(chunk)
        while rest:
            if incoming is None:
                incoming = await asyncio.to_thread(IncomingFile, path, next(remaining))
            part = rest[: incoming.missing]
            await asyncio.to_thread(incoming.write, part)
            rest = rest[len(part) :]
            if not incoming.missing:
                await asyncio.to_thread(incoming.place)
                incoming = None
        if count is not None:
            await count(len(chunk))
    left = list(remaining)
    if incoming is not None or any(file.size for file in left):
        raise ConnectionError("the other shard sent too little")
    for file in left:  # empty files; git checks them later
        incoming = await asyncio.to_thread(IncomingFile, path, file)
        await asyncio.to_thread(incoming.place)
