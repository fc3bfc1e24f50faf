"""Copies repositories to another volume, file by file.

Objects are immutable, and refs are copied as one list. So an interrupted copy continues with the missing
files, and a repeated copy transfers only new ones. Files that git can recreate (commit-graphs,
multi-pack-indexes) are not copied. All functions block.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.configuration import PROPOSALS, SCRATCH
from ingot_git.process.disk import disk_errors
from ingot_git.process.errors import GitFailed, InvalidName, RepositoryDamaged, RepositoryNotFound
from ingot_git.refs.ref_files import SYMBOLIC, raw_refs

_PACKED = re.compile(r"objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev|bitmap|mtimes)")
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}")
_READ_BYTES = 256 * 1024
_CHECKSUM_BYTES = 20
_TIME_LIMIT = 3600.0
_DAMAGE_CHARACTERS = 2000


class ObjectFile(msgspec.Struct, frozen=True):
    """A file of objects, by its path in the repository. On one volume an ``inode`` identifies the file."""

    path: str
    size: int
    modified_ns: int
    inode: int


class Ref(msgspec.Struct, frozen=True):
    """A ref. Its name may contain any bytes."""

    name: bytes
    oid: str


class Contents(msgspec.Struct, frozen=True):
    """The permanent refs and object files of a repository. HEAD, the default branch, is not included."""

    refs: list[Ref]
    files: list[ObjectFile]


def read_contents(path: Path) -> Contents:
    """Return the current contents of a repository. The files contain all objects that the refs need.

    Raises:
        RepositoryNotFound: the repository does not exist.
        RepositoryDamaged: a ref cannot be read.
    """
    if not (path / "HEAD").is_file():
        raise RepositoryNotFound("no such repository")
    refs = [ref for ref in read_refs(path) if not _is_temporary(ref.name)]
    return Contents(refs, _files(path))


def read_refs(path: Path) -> list[Ref]:
    """Return all refs that are not symbolic, by name. Raises RepositoryDamaged."""
    return [
        Ref(name, target.decode())
        for name, target in raw_refs(path, "refs/")
        if not target.startswith(SYMBOLIC)
    ]


def is_object_file(name: str) -> bool:
    """True if this is the path of an object file."""
    return bool(_PACKED.fullmatch(name) or _LOOSE.fullmatch(name))


def read_files(path: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the bytes of these files, one file after the other.

    Raises:
        InvalidName: a path is not the path of an object file.
        FileNotFoundError: git has packed or removed the file.
    """
    for name in names:
        if not is_object_file(name):
            raise InvalidName("not the path of an object file")
        with (path / name).open("rb") as file:
            while chunk := file.read(_READ_BYTES):
                yield chunk


class IncomingFile:
    """A file that is written under a temporary name; ``place`` renames it when it is complete."""

    def __init__(self, path: Path, file: ObjectFile) -> None:
        self._target, self._file = path / file.path, file
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._partial = self._target.with_name(f"tmp_obj_{self._target.name}")
        self._stream = self._partial.open("wb")
        self.missing = file.size

    def write(self, chunk: memoryview) -> None:
        with disk_errors():
            self._stream.write(chunk)
        self.missing -= len(chunk)

    def place(self) -> None:
        """Rename the file. Raises RepositoryDamaged if the checksum of a pack or index does not match."""
        self._stream.close()
        if _PACKED.fullmatch(self._file.path) and not _is_whole(self._partial):
            self._partial.unlink()
            raise RepositoryDamaged(f"{self._file.path} does not match its checksum; copy it again")
        # The time decides when an unreachable object may be pruned.
        os.utime(self._partial, ns=(self._file.modified_ns, self._file.modified_ns))
        self._partial.chmod(0o444)
        self._partial.rename(self._target)


def missing_files(path: Path, files: Sequence[ObjectFile]) -> list[ObjectFile]:
    """Return the files that the copy at ``path`` lacks, in the order of the list."""
    return [file for file in files if _size(path / file.path) != file.size]


def link_files(path: Path, files: Collection[ObjectFile], others: dict[tuple[int, str], Path]) -> None:
    """Link files that an earlier copy already has.

    ``others`` has the paths in earlier copies by inode and name. Missing files are added to ``others``.
    """
    for file in files:
        target = path / file.path
        other = others.setdefault((file.inode, file.path), target)
        if other != target and other.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(other, target)


def remove_surplus(path: Path, files: Sequence[ObjectFile]) -> None:
    """Remove object files that are not in the list. git has repacked them since they were copied."""
    listed = {file.path for file in files}
    for file in _files(path):
        if file.path not in listed:
            (path / file.path).unlink()


def write_refs(path: Path, refs: Sequence[Ref]) -> None:
    """Set the refs of a copy that is not in use yet."""
    shutil.rmtree(path / "refs")
    for folder in ("heads", "tags"):
        (path / "refs" / folder).mkdir(parents=True)
    lines = [ref.oid.encode() + b" " + ref.name + b"\n" for ref in sorted(refs, key=lambda ref: ref.name)]
    (path / "packed-refs").write_bytes(b"".join([b"# pack-refs with: sorted \n", *lines]))


def check_new_refs(path: Path, refs: Sequence[Ref]) -> str:
    """Return git's message about missing objects of new refs; empty if nothing is missing.

    Refs that the copy already has are not checked.
    """
    present = {(ref.name, ref.oid) for ref in read_refs(path)}
    tips = sorted({ref.oid for ref in refs if (ref.name, ref.oid) not in present})
    if not tips:
        return ""
    # Check all tips at once: for a first copy, each walk goes through the whole history.
    args = GitArgs("rev-list", ("--objects", "--quiet", "--stdin", "--not", "--all"))
    return _error_message(path, args, "".join(f"{tip}\n" for tip in tips).encode())


def check_connectivity(path: Path) -> str:
    """Return git's message about missing objects of the refs; empty if nothing is missing."""
    options = ("--connectivity-only", "--no-dangling", "--no-progress", "--no-reflogs")
    return _error_message(path, GitArgs("fsck", options))


def _error_message(path: Path, args: GitArgs, stdin: bytes | None = None) -> str:
    try:
        run_git(args, git_dir=path, stdin=stdin, time_limit=_TIME_LIMIT, ends_with_parent=True)
    except GitFailed as error:
        return (error.stderr or f"git {args.verb} ended with {error.exit_code}")[:_DAMAGE_CHARACTERS]
    return ""


def _is_temporary(name: bytes) -> bool:
    """True if the ref belongs to a running request."""
    return name.startswith(SCRATCH.encode()) and not name.startswith(PROPOSALS.encode())


def _files(path: Path) -> list[ObjectFile]:
    """Return the object files of a repository, loose objects first.

    An object that is packed during the listing is found in its pack. Packs are listed until two lists are
    equal: a single list can lack both a new pack and the packs that it replaces.
    """
    folders = sorted(folder.name for folder in (path / "objects").iterdir() if len(folder.name) == 2)
    loose = [file for folder in folders for file in _files_in(path, folder)]
    before, packed = None, list(_files_in(path, "pack"))
    while before != (paths := [file.path for file in packed]):
        before, packed = paths, list(_files_in(path, "pack"))
    return loose + packed


def _files_in(path: Path, folder: str) -> Iterator[ObjectFile]:
    for entry in sorted(os.scandir(path / "objects" / folder), key=lambda entry: entry.name):
        name = f"objects/{folder}/{entry.name}"
        if not is_object_file(name):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield ObjectFile(name, status.st_size, status.st_mtime_ns, status.st_ino)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


def _is_whole(path: Path) -> bool:
    """True if a pack or index ends with the SHA-1 of its content (gitformat-pack(5))."""
    digest, left = hashlib.sha1(usedforsecurity=False), path.stat().st_size - _CHECKSUM_BYTES
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(_READ_BYTES, left))):
            digest.update(chunk)
            left -= len(chunk)
        return left == 0 and file.read() == digest.digest()
