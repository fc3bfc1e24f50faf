"""Commits patches (git-apply(1)) in the bare repository; git writes only temporary files.

A binary patch names the id of its result. If the repository has an object with this id, git uses the object
and ignores the content of the patch. So git gets only the files of the branch that the patch changes, and no
other objects.
"""

import contextlib
import os
import tempfile
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_git.changes.file_changes import (
    ChangeRefused,
    NewCommit,
    PreparedCommit,
    TreeEdit,
    branch_tips,
    write_commit,
)
from ingot_git.history.commits import commit_info, find_commit
from ingot_git.history.objects import is_safe_file_path
from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.cpu_time import READ
from ingot_git.process.disk import writing
from ingot_git.process.errors import GitFailed, GitTimedOut, ObjectNotFound
from ingot_git.refs.refs import BRANCHES, RefChange
from ingot_git.refs.trees import FOLDER, SUBMODULE, entry_at
from ingot_git.storage.scratch import staged

_SECONDS = 20.0
_MEMORY = 1024 * 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
"""Limit for all files that a patch changes, before and after."""
_OPTIONS = ("--recount", "--binary", "--whitespace=nowarn")


def prepare_patch(repo: pygit2.Repository, new: NewCommit, *, patch: bytes) -> PreparedCommit:
    """Write the commit of a patch. Blocks; runs git.

    Raises:
        RefNotFound: the branch does not exist, and the repository is not empty.
        ChangeRefused: the patch does not apply, or changes a path that may not be written. Or ``new_branch``
            exists.
        UnsafeObject: a push may not contain one of the files.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    with staged(repo) as view:
        info = commit_info(view, write_commit(view, tip, _apply(view, tip, patch), new))
        view.keep(info.oid)
    return PreparedCommit(info, RefChange(BRANCHES + new.new_branch, expected, info.oid), ())


def _apply(repo: pygit2.Repository, tip: str, patch: bytes) -> str:
    """Return the id of the tree after the patch. Reads only the files that the patch names.

    Raises ChangeRefused.
    """
    root = str(find_commit(repo, tip).tree_id) if tip else None
    with tempfile.TemporaryDirectory(prefix="ingot-patch-") as folder:
        path, objects = Path(folder) / "index", Path(folder) / "objects"
        objects.mkdir()
        environment = clean_environment({"GIT_INDEX_FILE": str(path), "GIT_OBJECT_DIRECTORY": str(objects)})
        run = partial(
            run_git,
            git_dir=Path(repo.path),
            stdin=patch,
            environment=environment,
            time_limit=_SECONDS,
            max_memory=_MEMORY,
            max_cpu=READ,
        )
        index, store = pygit2.Index(str(path)), pygit2.Odb(str(objects))
        try:
            # In reverse, so renamed files have their old names.
            output = run(GitArgs("apply", ("--numstat", "-z", *_OPTIONS)))
            output += run(GitArgs("apply", ("-R", "--numstat", "-z", *_OPTIONS)))
            names = {os.fsdecode(line.split(b"\t", 2)[2]) for line in output.split(b"\0") if line}
            before = {} if root is None else _entries(repo, root, names)
            for name, (mode, oid) in before.items():
                index.add(pygit2.IndexEntry(name, pygit2.Oid(hex=oid), FileMode(mode)))
            index.write()
            _copy(repo.odb, store, {oid for mode, oid in before.values() if mode != SUBMODULE})
            run(GitArgs("apply", ("--cached", *_OPTIONS)))
        except (GitFailed, GitTimedOut):
            raise ChangeRefused("patch", "", "does not apply") from None
        index.read(True)
        after = {entry.path: (int(entry.mode), str(entry.id)) for entry in index}
        changed = {name: entry for name, entry in after.items() if before.get(name) != entry}
        for name in changed:
            if not is_safe_file_path(name):
                raise ChangeRefused("patch", name, f"changes {name!r}, which is no path of a file")
        with writing():
            _copy(store, repo.odb, {oid for mode, oid in changed.values() if mode != SUBMODULE})
            return _changed_tree(repo, root, before.keys() - after.keys(), changed)


def _changed_tree(
    repo: pygit2.Repository,
    root: str | None,
    removed: Collection[str],
    changed: Mapping[str, tuple[int, str]],
) -> str:
    """Write the folders of the changed files. Return the id of the tree. Raises ChangeRefused."""
    edit = TreeEdit(repo, root)
    try:
        for name in removed:
            edit.replace(name, None)
        for name, entry in changed.items():
            edit.replace(name, entry)
    except ChangeRefused as error:
        raise ChangeRefused("patch", error.path, f"{error.path}: {error}") from None
    return edit.write()


def _entries(repo: pygit2.Repository, root: str, names: Collection[str]) -> dict[str, tuple[int, str]]:
    """Return mode and id of the files, links and submodules with these names. Skip other names."""
    entries: dict[str, tuple[int, str]] = {}
    for name in names:
        with contextlib.suppress(ObjectNotFound):
            entry = entry_at(repo, root, name)
            if entry.mode != FOLDER:
                entries[name] = entry.mode, entry.oid
    return entries


def _copy(source: pygit2.Odb, target: pygit2.Odb, oids: Collection[str]) -> None:
    """Copy blobs from one store to another. Raises ChangeRefused if they are too large."""
    if sum(source.read_header(oid)[1] for oid in oids) > _MOST_BYTES:
        raise ChangeRefused("patch", "", "changes files that are too large")
    for oid in oids:
        target.write(ObjectType.BLOB, source.read(oid)[1])
