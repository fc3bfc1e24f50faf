"""Checks objects like receive-pack checks a push: with git and equal severities.

`check_repository` is for a copied repository, `check_objects` for objects that the service writes. Of the
written objects, git checks only trees with a name that fsck has a rule for, and their files. All other parts
of trees and commits are valid, because libgit2 writes them.
"""

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.configuration import SEVERITIES
from ingot_git.process.errors import GitFailed, RepositoryDamaged, UnsafeObject
from ingot_git.refs.trees import FOLDER, IGNORED_BY_HFS, raw_entries

_SECONDS = 60.0
_REPOSITORY_SECONDS = 1800.0
_MEMORY = 1024 * 1024 * 1024
_FLAW = re.compile(r"error: object ([0-9a-f]{40}): (\w+): (.+?)(?= (?:error|warning|fatal): |$)")
_OF_FSCK = re.compile(r"error in \w+ [0-9a-f]{40}: (\w+): (.+?)(?= (?:error|warning|fatal)(?: in \w+ |: )|$)")
_REFUSED = "fsck error in pack"
_JUDGED = re.compile(
    r"|\.|\.\.|\.git[ .]*(:.*)?|\.git(modules|attributes).*|.*[/\\~].*", re.IGNORECASE | re.DOTALL
)
"""Names for which fsck has a rule: `.` and `..`, spellings of `.git`, and files that git reads.

A name with `~` may be the short form of such a name (git-config(1), core.protectNTFS). The names of symbolic
links are checked, too.
"""

_Entry = tuple[int, bytes, str]


def is_judged(name: bytes) -> bool:
    """True if git must check an entry with this name."""
    return _JUDGED.fullmatch(IGNORED_BY_HFS.sub("", name.decode("utf-8", "replace"))) is not None


def check_objects(view: pygit2.Repository, folder: Path, environment: Mapping[str, str]) -> None:
    """Check the loose objects in ``folder``. ``view`` reads them and the repository's objects. Blocks.

    A git process in ``environment`` reads the same objects and writes to ``folder``.

    Raises UnsafeObject with the path of the first flaw, relative to the root of the new files.
    """
    trees = dict(_new_trees(view, folder))
    judged = [oid for oid, entries in trees.items() if any(is_judged(name) for _, name, _ in entries)]
    if not judged:
        return
    try:
        output = run_git(
            GitArgs("index-pack", ("--stdin", f"--strict={_severities()}")),
            git_dir=Path(view.path),
            stdin=_pack([view.odb.read(oid)[1] for oid in judged]),
            environment=environment,
            time_limit=_SECONDS,
            max_memory=_MEMORY,
        )
    except GitFailed as error:
        if _REFUSED not in error.stderr:
            raise
        if flaw := _FLAW.search(error.stderr):
            raise UnsafeObject(_path_of(flaw[1], trees), f"{flaw[3]} ({flaw[2]})") from None
        raise UnsafeObject(_path_of(judged[0], trees), "a value is too long") from None
    # The output is "pack <id>", then ids of missing .gitmodules blobs. receive-pack closes the pipe before
    # them, so there the result of such a push is a race.
    if missing := output.decode().split()[2:]:
        raise UnsafeObject(_path_of(missing[0], trees), "unable to read .gitmodules blob (gitmodulesMissing)")


def check_repository(path: Path) -> None:
    """Check all objects of a repository like the objects of a push. Blocks. Raises RepositoryDamaged."""
    severities = tuple((f"fsck.{flaw}", severity) for flaw, severity in SEVERITIES)
    try:
        run_git(
            GitArgs("fsck", ("--strict", "--full", "--no-dangling", "--no-progress", "--no-reflogs")),
            git_dir=path,
            environment=clean_environment(config=severities),
            time_limit=_REPOSITORY_SECONDS,
            ends_with_parent=True,
        )
    except GitFailed as error:
        flaw = _OF_FSCK.search(error.stderr)
        raise RepositoryDamaged(f"{flaw[2]} ({flaw[1]})" if flaw else error.stderr) from None


def _new_trees(view: pygit2.Repository, folder: Path) -> Iterator[tuple[str, list[_Entry]]]:
    for file in folder.glob("??/*"):
        oid = file.parent.name + file.name
        if view.odb.read_header(oid)[0] == ObjectType.TREE:
            yield oid, [(mode, name, entry.hex()) for mode, name, entry in raw_entries(view, oid)]


def _severities() -> str:
    return ",".join(f"{flaw}={severity}" for flaw, severity in SEVERITIES)


def _pack(trees: list[bytes]) -> bytes:
    """Return the trees as a pack (gitformat-pack(5))."""
    parts = [b"PACK", (2).to_bytes(4), len(trees).to_bytes(4)]
    for tree in trees:
        size = len(tree) >> 4
        head = [ObjectType.TREE << 4 | len(tree) & 15]
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        parts += [bytes(head), zlib.compress(tree, 1)]
    pack = b"".join(parts)
    return pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def _path_of(oid: str, trees: dict[str, list[_Entry]]) -> str:
    """Return the path of an object from the root of the new trees.

    For a tree, return the path of the entry that may be the cause of the flaw.
    """
    names = []
    if oid in trees:
        entries = sorted(trees[oid], key=lambda entry: entry[0] != FileMode.LINK)
        names += [name for _, name, _ in entries if is_judged(name)][:1]
    while True:
        matches = (
            (tree, name)
            for tree, entries in trees.items()
            for mode, name, entry in entries
            if entry == oid and (mode == FOLDER or is_judged(name))
        )
        tree, name = next(matches, ("", b""))
        if not tree:
            return b"/".join(reversed(names)).decode("utf-8", "replace")
        names.append(name)
        oid = tree
