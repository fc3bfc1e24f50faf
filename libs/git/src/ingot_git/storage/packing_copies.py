"""A copy of a repository from hard links, in which git repacks without disturbing pushes and reads.

A repack in the repository itself would break pushes and lose objects:

- git removes empty folders of loose objects, even if a push is about to write into them.
- git lists old packs before it checks which packs a push keeps (.keep). A pack that is pushed again in
  between is removed, and its objects are lost.

No other process uses the copy. The repository gets new packs before it loses old packs. All functions
block.
"""

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from ingot_git.process.disk import disk_errors, flush_files
from ingot_git.refs.ref_files import SYMBOLIC, raw_refs

_NAME = "tmp_objdir-packing"
"""A name like git's own: `Storage.sweep` removes it, and git does not read it as an object."""
# git looks for the index, so it comes last and is removed first.
_SUFFIXES = (".pack", ".rev", ".mtimes", ".bitmap", ".idx")
_CHANGING = (".mtimes", ".bitmap")
"""Packs with the same name have the same objects, but these files may differ."""
_LOOSE = "[0-9a-f][0-9a-f]/[0-9a-f]*"


class PackingCopy:
    """A copy for one repack. Only one repack of a repository runs at a time."""

    def __init__(self, repository: Path) -> None:
        self._repository, self._objects = repository, repository / "objects"
        self.path = self._objects / _NAME
        self._links: set[Path] = set()
        """The linked files, relative to the folder of objects."""

    def make(self) -> None:
        """Copy all refs, then link the objects, so every copied ref has its objects."""
        self.remove()
        (self.path / "refs").mkdir(parents=True)
        for file in ("HEAD", "config"):
            shutil.copy(self._repository / file, self.path / file)
        with (self.path / "packed-refs").open("wb") as refs:
            refs.write(b"# pack-refs with: sorted \n")
            for name, target in raw_refs(self._repository, "refs/"):
                if not target.startswith(SYMBOLIC):
                    refs.write(target + b" " + name + b"\n")
        self._link_objects()

    def _link_objects(self) -> None:
        """Link the object files. A pack without an index is skipped: its push is still running."""
        (self.path / "objects" / "pack").mkdir(parents=True)
        (self.path / "objects" / "info").symlink_to(self._objects / "info")
        for index in self._objects.glob("pack/pack-*.idx"):
            if index.with_suffix(".pack").exists():
                for suffix in _SUFFIXES:
                    self._link(index.with_suffix(suffix))
        for file in self._objects.glob(_LOOSE):
            self._link(file)

    def hand_over(self) -> None:
        """Link git's new packs into the repository, and flush their directory entries to disk."""
        for suffix in _SUFFIXES:
            for file in self.path.glob(f"objects/pack/pack-*{suffix}"):
                target = self._objects / "pack" / file.name
                if suffix in _CHANGING and not (target.exists() and target.samefile(file)):
                    new = target.with_name(f"tmp_{target.name}")
                    new.unlink(missing_ok=True)
                    os.link(file, new)
                    new.replace(target)
                else:
                    with contextlib.suppress(FileExistsError):
                        os.link(file, target)
        flush_files((self._objects / "pack",))

    def remove_old(self, *, keep: Collection[str] = ()) -> None:
        """Remove files from the repository that git repacked or pruned, except packs named in ``keep``."""
        gone = [name for name in self._links if not (self.path / "objects" / name).exists()]
        gone = [name for name in gone if name.stem not in keep]
        for name in sorted(gone, key=lambda name: name.suffix != ".idx"):
            (self._objects / name).unlink(missing_ok=True)
        for folder in {name.parent for name in gone if not name.suffix}:
            with contextlib.suppress(OSError):  # it is not empty
                (self._objects / folder).rmdir()

    def remove(self) -> None:
        """Remove the copy. The repository does not need it, even if the process died before."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _link(self, file: Path) -> None:
        name = file.relative_to(self._objects)
        link = self.path / "objects" / name
        link.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.link(file, link)
            self._links.add(name)


@contextlib.contextmanager
def packing_copy(repository: Path) -> Iterator[PackingCopy]:
    """Yield a copy of a repository. Remove the copy afterwards.

    Raises:
        StorageFull: the disk is full.
        RepositoryDamaged: the refs cannot be read.
    """
    copy = PackingCopy(repository)
    try:
        with disk_errors():
            copy.make()
        yield copy
    finally:
        copy.remove()
