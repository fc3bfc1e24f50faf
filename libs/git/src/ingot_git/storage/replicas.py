"""Updates copies of repositories while they are read: all refs change at once, after their objects.

All refs of a copy are in ``packed-refs``, so replacing this file changes them together. All functions block.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from ingot_git.process.disk import disk_errors, flush_files
from ingot_git.refs.refs import BRANCHES
from ingot_git.storage.copies import ObjectFile, Ref

_STAMP = "ingot-replica"


def in_order(files: Sequence[ObjectFile]) -> list[ObjectFile]:
    """Return the files with pack indexes last, because git reads a pack as soon as its index exists."""
    return sorted(files, key=lambda file: file.path.endswith(".idx"))


def replace_refs(path: Path, refs: Sequence[Ref], default_branch: str) -> None:
    """Replace all refs and HEAD. Remove loose refs, because they are older than the copy."""
    lines = [ref.oid.encode() + b" " + ref.name + b"\n" for ref in sorted(refs, key=lambda ref: ref.name)]
    _replace(path / "packed-refs", b"".join([b"# pack-refs with: sorted \n", *lines]))
    for top, _, names in os.walk(path / "refs"):
        for name in names:
            Path(top, name).unlink()
    _replace(path / "HEAD", f"ref: {BRANCHES}{default_branch}\n".encode())


def flush(path: Path, files: Sequence[ObjectFile]) -> None:
    """Flush files and their directory entries to disk."""
    paths = [path / file.path for file in files]
    with disk_errors():
        flush_files((*paths, *{file.parent for file in paths}))


def write_stamp(path: Path, stamp: str) -> None:
    """Store the stamp, which identifies the copied version of the repository."""
    _replace(path / _STAMP, stamp.encode())


def read_stamp(path: Path) -> str:
    """Return the stamp of the copy (see `write_stamp`); empty if it has no stamp."""
    with contextlib.suppress(FileNotFoundError):
        return (path / _STAMP).read_text()
    return ""


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name}.new")
    with disk_errors(), partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
