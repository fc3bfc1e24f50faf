"""A copy of a repository that consists of links to its files of objects, in which git packs apart from whoever pushes and reads.

In the repository itself git fails pushes and loses objects: it removes a folder of loose objects as soon as it is empty, also
when a push is about to put an object there; and it lists what it will remove before it looks which packs a push holds
(.keep), so that a pack which is pushed once more in between is removed, and what is in it not packed. In the copy nobody
else is. The repository gets what is new before it loses what is old. Everything here blocks.
"""

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from ingot_repos.git.disk import disk_errors, flush_files
from ingot_repos.git.ref_files import SYMBOLIC, raw_refs

_NAME = "tmp_objdir-packing"
"""As git names its own: `Storage.sweep` removes it, and git takes it for no object."""
# git looks for the index: it is the last that comes, and the first that goes.
_SUFFIXES = (".pack", ".rev", ".mtimes", ".bitmap", ".idx")
_CHANGING = (".mtimes", ".bitmap")
"""Packs of one name have the same objects, but not the same of these."""
_LOOSE = "[0-9a-f][0-9a-f]/[0-9a-f]*"


class PackingCopy:
    """The copy for one packing, which is the only one of the repository at this time."""

    def __init__(self, repository: Path) -> None:
        self._repository, self._objects = repository, repository / "objects"
        self.path = self._objects / _NAME
        self._links: set[Path] = set()
        """Files below the folder of objects, that of the repository and that of the copy."""

    def make(self) -> None:
        """Copy all refs, and then link the objects: so each ref has what it needs."""
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
        """A pack that is pushed just now has no index yet: it is left out."""
        (self.path / "objects" / "pack").mkdir(parents=True)
        (self.path / "objects" / "info").symlink_to(self._objects / "info")
        for index in self._objects.glob("pack/pack-*.idx"):
            if index.with_suffix(".pack").exists():
                for suffix in _SUFFIXES:
                    self._link(index.with_suffix(suffix))
        for file in self._objects.glob(_LOOSE):
            self._link(file)

    def hand_over(self) -> None:
        """Let the repository have the packs that git has made; their names are on the disk then."""
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

    def remove_old(self, *, but: Collection[str] = ()) -> None:
        """Let it lose what git has packed anew or pruned, but the packs with these names."""
        gone = [name for name in self._links if not (self.path / "objects" / name).exists()]
        gone = [name for name in gone if name.stem not in but]
        for name in sorted(gone, key=lambda name: name.suffix != ".idx"):
            (self._objects / name).unlink(missing_ok=True)
        for folder in {name.parent for name in gone if not name.suffix}:
            with contextlib.suppress(OSError):  # it is not empty
                (self._objects / folder).rmdir()

    def remove(self) -> None:
        """Remove the copy; one that a dead process left has nothing that the repository needs."""
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
    """The copy, for the time of the block. Raises RepositoryDamaged when the list of refs cannot be read, StorageFull."""
    copy = PackingCopy(repository)
    try:
        with disk_errors():
            copy.make()
        yield copy
    finally:
        copy.remove()
