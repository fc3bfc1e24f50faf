"""Copies of repositories that are read while they are brought up to date: all refs change in one moment, after their objects.

A copy has all its refs in ``packed-refs``, so that its replacement changes them together. Everything here blocks.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from ingot_repos.git.copies import ObjectFile, Ref
from ingot_repos.git.disk import disk_errors, flush_files
from ingot_repos.git.refs import BRANCHES

_STAMP = "ingot-replica"


def in_order(files: Sequence[ObjectFile]) -> list[ObjectFile]:
    """Indexes of packs come last: git looks for a pack as soon as it sees one."""
    return sorted(files, key=lambda file: file.path.endswith(".idx"))


def replace_refs(path: Path, refs: Sequence[Ref], default_branch: str) -> None:
    """Make these the refs, and let HEAD name this branch. Loose ones are of a time when the folder was no copy."""
    lines = [ref.oid.encode() + b" " + ref.name + b"\n" for ref in sorted(refs, key=lambda ref: ref.name)]
    _replace(path / "packed-refs", b"".join([b"# pack-refs with: sorted \n", *lines]))
    for top, _, names in os.walk(path / "refs"):
        for name in names:
            Path(top, name).unlink()
    _replace(path / "HEAD", f"ref: {BRANCHES}{default_branch}\n".encode())


def flush(path: Path, files: Sequence[ObjectFile]) -> None:
    """Let the files be on the disk, and their names."""
    paths = [path / file.path for file in files]
    with disk_errors():
        flush_files((*paths, *{file.parent for file in paths}))


def write_stamp(path: Path, stamp: str) -> None:
    """Say which copy this is."""
    _replace(path / _STAMP, stamp.encode())


def read_stamp(path: Path) -> str:
    """Which copy this is; empty where there is none."""
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
