"""The generation of a repository: a value that changes with each visible ref and each repack."""

import hashlib
import os
from pathlib import Path

import pygit2

from ingot_git.process.configuration import HIDDEN_REFS


def read_generation(repo: pygit2.Repository) -> bytes:
    """Return the generation of a bare repository: a digest of HEAD, loose refs, packed-refs and packs.

    Blocks. If a change is undone, the generation may be the earlier one, because fetches get the same
    content.
    """
    path = Path(repo.path)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_content(path / "HEAD"))
    for name in ("packed-refs", "objects/pack", "objects/info"):
        try:
            status = os.stat(path / name)  # noqa: PTH116 - faster than Path.stat
        except FileNotFoundError:
            continue
        digest.update(f"{name} {status.st_ino} {status.st_mtime_ns} {status.st_size}\n".encode())
    pending, hidden = [f"{path}/refs"], {f"{path}/{prefix}".rstrip("/") for prefix in HIDDEN_REFS}
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except FileNotFoundError:  # git removes empty folders
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in hidden:
                    pending.append(entry.path)
            elif not entry.name.endswith(".lock"):
                digest.update(os.fsencode(entry.path) + b"\0" + _content(entry.path) + b"\0")
    return digest.digest()


def _content(path: str | Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
