"""Commits patches (git-apply(1)) in the bare repository; git writes only temporary files.

For a binary patch git takes the result by its id from anywhere in the repository. It ignores the content in
the patch. So git gets only the files of the branch that the patch changes, and no other objects.
"""

import os
import tempfile
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from ingot_repos.git.changes.file_changes import (
    ChangeRefused,
    NewCommit,
    PreparedCommit,
    branch_tips,
    write_commit,
)
from ingot_repos.git.history.commits import commit_info, find_commit
from ingot_repos.git.history.objects import is_safe_file_path
from ingot_repos.git.process.command import GitArgs, clean_environment, run_git
from ingot_repos.git.process.cpu_time import READ
from ingot_repos.git.process.disk import writing
from ingot_repos.git.process.errors import GitFailed, GitTimedOut
from ingot_repos.git.refs.refs import BRANCHES, RefChange
from ingot_repos.git.refs.trees import SUBMODULE
from ingot_repos.git.storage.scratch import staged

_SECONDS = 20.0
_MEMORY = 1024 * 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
"""Limit for all files that a patch changes, before and after."""
_OPTIONS = ("--recount", "--binary", "--whitespace=nowarn")


def prepare_patch(repo: pygit2.Repository, new: NewCommit, *, patch: bytes) -> PreparedCommit:
    """Write the commit of a patch. Blocks; runs git.

    Raises:
        RefNotFound: there is no such branch, and the repository is not empty.
        ChangeRefused: the patch does not apply, or changes a path that may not be written.
        UnsafeObject: a push may not contain such a file.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    with staged(repo) as view:
        info = commit_info(view, write_commit(view, tip, _apply(view, tip, patch), new))
        view.keep(info.oid)
    return PreparedCommit(info, RefChange(BRANCHES + new.new_branch, expected, info.oid), ())


def _apply(repo: pygit2.Repository, tip: str, patch: bytes) -> str:
    """Return the id of the tree after the patch."""
    with tempfile.TemporaryDirectory(prefix="ingot-patch-") as folder:
        path, objects = Path(folder) / "index", Path(folder) / "objects"
        objects.mkdir()
        index = pygit2.Index(str(path))
        if tip:
            index.read_tree(find_commit(repo, tip).tree)
        index.write()
        before, store = _paths(index), pygit2.Odb(str(objects))
        files = {name: oid for name, oid, mode in before if mode != SUBMODULE}
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
        try:
            # In reverse, so renamed files have their old names.
            changed = run(GitArgs("apply", ("-R", "--numstat", "-z", *_OPTIONS))).split(b"\0")
            names = {os.fsdecode(line.split(b"\t", 2)[2]) for line in changed if line}
            _copy(repo.odb, store, {files[name] for name in names & files.keys()})
            run(GitArgs("apply", ("--cached", *_OPTIONS)))
        except (GitFailed, GitTimedOut):
            raise ChangeRefused("patch", "", "does not apply") from None
        index.read(True)
        entries = _paths(index) - before
        for name, _, _ in entries:
            if not is_safe_file_path(name):
                raise ChangeRefused("patch", name, f"changes {name!r}, which is no path of a file")
        with writing():
            _copy(store, repo.odb, {oid for _, oid, mode in entries if mode != SUBMODULE})
            return str(index.write_tree(repo))


def _copy(source: pygit2.Odb, target: pygit2.Odb, oids: Collection[str]) -> None:
    """Copy blobs from one store to another. Raises ChangeRefused when they are too large."""
    if sum(source.read_header(oid)[1] for oid in oids) > _MOST_BYTES:
        raise ChangeRefused("patch", "", "changes files that are too large")
    for oid in oids:
        target.write(ObjectType.BLOB, source.read(oid)[1])


def _paths(index: pygit2.Index) -> set[tuple[str, str, int]]:
    return {(entry.path, str(entry.id), int(entry.mode)) for entry in index}
