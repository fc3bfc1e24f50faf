"""Bundles (gitformat-bundle(5)): the refs of a repository and their history in one file."""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from ingot_git.process.command import GitArgs
from ingot_git.process.streaming import once, stream_git
from ingot_git.storage.packs import while_in_use

_SECONDS = 6 * 3600.0


async def write_bundle(path: Path, refs: Mapping[str, str], target: Path) -> None:
    """Write a bundle of ``refs`` (ids by full name) of the repository at ``path`` to the file ``target``.

    While this runs, the repository is not pruned. Raises the errors of `stream_git`, and OSError.
    """
    header = "".join(f"{object_id} {name}\n" for name, object_id in refs.items())
    pack = stream_git(
        GitArgs("pack-objects", ("--revs", "--stdout", "--quiet", "--delta-base-offset")),
        git_dir=path,
        body=once("".join(f"{object_id}\n" for object_id in dict.fromkeys(refs.values())).encode()),
        time_limit=_SECONDS,
    )
    with target.open("wb") as file:
        file.write(f"# v2 git bundle\n{header}\n".encode("utf-8", "surrogateescape"))
        async with contextlib.aclosing(while_in_use(path, pack)) as chunks:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
