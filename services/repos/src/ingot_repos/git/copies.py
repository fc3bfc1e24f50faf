"""Copies of repositories on another volume, file by file: objects never change under their names, and refs are a list.

So a copy that was interrupted goes on with what is missing, and what is copied once more is only what has come since.
What git can make anew (commit-graphs, indexes of many packs) is not copied. Everything here blocks.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from ingot_repos.git.command import GitArgs, run_git
from ingot_repos.git.configuration import PROPOSALS, SCRATCH
from ingot_repos.git.disk import disk_errors
from ingot_repos.git.errors import GitFailed, InvalidName, RepositoryDamaged, RepositoryNotFound
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs

_PACKED = re.compile(r"objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev|bitmap|mtimes)")
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}")
_READ_BYTES = 256 * 1024
_CHECKSUM_BYTES = 20
_TIME_LIMIT = 3600.0
_DAMAGE_CHARACTERS = 2000


class ObjectFile(msgspec.Struct, frozen=True):
    """A file below the folder of a repository. Files of one ``inode`` on one volume are the same file."""

    path: str
    size: int
    modified_ns: int
    inode: int


class Ref(msgspec.Struct, frozen=True):
    """Names may be any bytes."""

    name: bytes
    oid: str


class Contents(msgspec.Struct, frozen=True):
    """All of a repository but its HEAD, which names the default branch: refs that last, and files of objects."""

    refs: list[Ref]
    files: list[ObjectFile]


def read_contents(path: Path) -> Contents:
    """What the repository consists of now. Objects that are needed by these refs are in one of the files.

    Raises:
        RepositoryNotFound: there is none.
        RepositoryDamaged: a ref cannot be read.
    """
    if not (path / "HEAD").is_file():
        raise RepositoryNotFound("no such repository")
    refs = [ref for ref in read_refs(path) if not _is_passing(ref.name)]
    return Contents(refs, _files(path))


def read_refs(path: Path) -> list[Ref]:
    """All refs that are not symbolic, sorted. Raises RepositoryDamaged."""
    return [
        Ref(name, target.decode())
        for name, target in raw_refs(path, "refs/")
        if not target.startswith(SYMBOLIC)
    ]


def is_object_file(name: str) -> bool:
    """Whether it is the path of a file of objects."""
    return bool(_PACKED.fullmatch(name) or _LOOSE.fullmatch(name))


def read_files(path: Path, names: Sequence[str]) -> Iterator[bytes]:
    """The bytes of these files, one behind the other.

    Raises:
        InvalidName: a path that is not of a file of objects.
        FileNotFoundError: git has packed it meanwhile.
    """
    for name in names:
        if not is_object_file(name):
            raise InvalidName("not a file of objects")
        with (path / name).open("rb") as file:
            while chunk := file.read(_READ_BYTES):
                yield chunk


class IncomingFile:
    """A file that is being written beside its place; ``place`` puts it there when all of it has come."""

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
        """Raises RepositoryDamaged when a pack or its index is not what its own checksum says."""
        self._stream.close()
        if _PACKED.fullmatch(self._file.path) and not _is_whole(self._partial):
            self._partial.unlink()
            raise RepositoryDamaged(f"{self._file.path} is not what its checksum says")
        # The time decides when an object that no ref needs may go.
        os.utime(self._partial, ns=(self._file.modified_ns, self._file.modified_ns))
        self._partial.chmod(0o444)
        self._partial.rename(self._target)


def missing_files(path: Path, files: Sequence[ObjectFile]) -> list[ObjectFile]:
    """Those that the copy has not, in the order of the list."""
    return [file for file in files if _size(path / file.path) != file.size]


def link_files(path: Path, files: Collection[ObjectFile], others: dict[tuple[int, str], Path]) -> None:
    """Share with earlier copies what the repositories share: ``others`` are files by inode and name, and gets these."""
    for file in files:
        target = path / file.path
        other = others.setdefault((file.inode, file.path), target)
        if other != target and other.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(other, target)


def remove_surplus(path: Path, files: Sequence[ObjectFile]) -> None:
    """Remove files of objects that the list has not: git has packed them since they were copied."""
    listed = {file.path for file in files}
    for file in _files(path):
        if file.path not in listed:
            (path / file.path).unlink()


def write_refs(path: Path, refs: Sequence[Ref]) -> None:
    """Make these the refs of a copy that nobody uses yet."""
    shutil.rmtree(path / "refs")
    for folder in ("heads", "tags"):
        (path / "refs" / folder).mkdir(parents=True)
    lines = [ref.oid.encode() + b" " + ref.name + b"\n" for ref in sorted(refs, key=lambda ref: ref.name)]
    (path / "packed-refs").write_bytes(b"".join([b"# pack-refs with: sorted \n", *lines]))


def check_new_refs(path: Path, refs: Sequence[Ref]) -> str:
    """What is missing of the objects that these refs need and the present ones do not, in git's words, or nothing."""
    present = {(ref.name, ref.oid) for ref in read_refs(path)}
    tips = sorted({ref.oid for ref in refs if (ref.name, ref.oid) not in present})
    if not tips:
        return ""
    # All at once: each walk of a first copy goes through the whole history.
    args = GitArgs("rev-list", ("--objects", "--quiet", "--stdin", "--not", "--all"))
    return _words_of(path, args, "".join(f"{tip}\n" for tip in tips).encode())


def check_connectivity(path: Path) -> str:
    """What is missing of the objects that the refs need, in git's words, or nothing."""
    options = ("--connectivity-only", "--no-dangling", "--no-progress", "--no-reflogs")
    return _words_of(path, GitArgs("fsck", options))


def _words_of(path: Path, args: GitArgs, stdin: bytes | None = None) -> str:
    try:
        run_git(args, git_dir=path, stdin=stdin, time_limit=_TIME_LIMIT, ends_with_parent=True)
    except GitFailed as error:
        return (error.stderr or f"git {args.verb} ended with {error.exit_code}")[:_DAMAGE_CHARACTERS]
    return ""


def _is_passing(name: bytes) -> bool:
    """Whether the ref belongs to a request that is being answered."""
    return name.startswith(SCRATCH.encode()) and not name.startswith(PROPOSALS.encode())


def _files(path: Path) -> list[ObjectFile]:
    """Loose objects come first: what is packed meanwhile is found in its pack.

    Packs are looked for until two looks agree: one can miss both a new pack and the old ones that it replaces.
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
    """Files of packs end with the SHA-1 of what is before (gitformat-pack(5))."""
    digest, left = hashlib.sha1(usedforsecurity=False), path.stat().st_size - _CHECKSUM_BYTES
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(_READ_BYTES, left))):
            digest.update(chunk)
            left -= len(chunk)
        return left == 0 and file.read() == digest.digest()
