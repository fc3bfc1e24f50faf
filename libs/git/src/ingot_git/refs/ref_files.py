"""Reads refs from the files of a repository (gitrepository-layout(5), git-pack-refs(1)).

To list refs, libgit2 copies all packed refs, and each thread keeps its copy. Here refs are read one by one
and never held in memory together.
"""

import contextlib
import heapq
import os
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import IO

from ingot_git.process.errors import RepositoryDamaged

SYMBOLIC = b"ref: "
_PACKED = re.compile(rb"([0-9a-f]{40}) ([^\r\n]+)\n")
_LOOSE = re.compile(rb"([0-9a-f]{40})\s*|(ref: \S+)\s*")
_LONGEST_LOOSE = 4096


def raw_refs(path: Path, *folders: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield names and targets of the refs below these folders (such as ``refs/heads/``), by name.

    HEAD is not included. A target is an object id in hex, or `SYMBOLIC` and a name. Unreadable loose refs are
    skipped, as in libgit2. Loose refs are read before packed refs, so a ref that is packed at the same time
    is not missed.

    Raises RepositoryDamaged if packed-refs is not in git's format.
    """
    last = b""
    loose = sorted(ref for folder in folders for ref in loose_refs(path, folder))
    packed = _packed_refs(path, tuple(folder.encode() for folder in folders))
    for ref in heapq.merge(loose, packed, key=itemgetter(0)) if loose else packed:
        if ref[0] != last:  # a loose ref comes before a packed one of the same name
            last = ref[0]
            yield ref


def loose_refs(path: Path, folder: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield names and targets of the loose refs below a folder, in any order."""
    root = os.fsencode(path) + b"/"
    for place, _, names in os.walk(root + folder.rstrip("/").encode()):
        for name in names:
            match = None if name.endswith(b".lock") else _LOOSE.fullmatch(_content(place + b"/" + name))
            if match is not None:
                yield (place + b"/" + name).removeprefix(root), match[1] or match[2]


def _content(file: bytes) -> bytes:
    """Return the content of a loose ref; empty if it no longer exists."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            return os.read(descriptor, _LONGEST_LOOSE)
        finally:
            os.close(descriptor)
    return b""


def _packed_refs(path: Path, folders: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    try:
        file = (path / "packed-refs").open("rb")
    except FileNotFoundError:
        return
    with file:
        is_sorted = b" sorted " in file.readline()
        file.seek(0)
        refs = _lines(file, folders)
        yield from refs if is_sorted else sorted(refs)


def _lines(file: IO[bytes], folders: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    for line in file:
        if line.startswith((b"#", b"^")):  # the header, or the target of the tag in the line before
            continue
        match = _PACKED.fullmatch(line)
        if match is None:
            raise RepositoryDamaged("the packed-refs file is damaged")
        if match[2].startswith(folders):
            yield match[2], match[1]
