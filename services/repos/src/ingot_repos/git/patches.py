"""Commits what a patch says (git-apply(1)), in the bare repository: only an index file is written meanwhile."""

import tempfile
from pathlib import Path

import pygit2

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.commits import commit_info, find_commit
from ingot_repos.git.disk import writing
from ingot_repos.git.errors import GitFailed, GitTimedOut
from ingot_repos.git.file_changes import ChangeRefused, NewCommit, PreparedCommit, branch_tips, write_commit
from ingot_repos.git.objects import is_safe_file_path
from ingot_repos.git.refs import BRANCHES, RefChange

_SECONDS = 20.0
_MEMORY = 1024 * 1024 * 1024


def prepare_patch(repo: pygit2.Repository, new: NewCommit, *, patch: bytes) -> PreparedCommit:
    """Write the commit of a patch. Blocks; runs git.

    Raises:
        RefNotFound: there is no such branch, and the repository is not empty.
        ChangeRefused: the patch does not apply, or changes a path that may not be written.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    tree = _apply(repo, tip, patch)
    oid = write_commit(repo, tip, tree, new)
    return PreparedCommit(commit_info(repo, oid), RefChange(BRANCHES + new.new_branch, expected, oid), ())


def _apply(repo: pygit2.Repository, tip: str, patch: bytes) -> str:
    """The id of the tree with the patch."""
    with tempfile.TemporaryDirectory(prefix="ingot-patch-") as folder:
        path = Path(folder) / "index"
        index = pygit2.Index(str(path))
        if tip:
            index.read_tree(find_commit(repo, tip).tree)
        index.write()
        before = _paths(index)
        try:
            run_git(
                GitArgs("apply", ("--cached", "--recount", "--binary", "--whitespace=nowarn")),
                git_dir=Path(repo.path),
                stdin=patch,
                environment=clean_environment({"GIT_INDEX_FILE": str(path)}),
                time_limit=_SECONDS,
                max_memory=_MEMORY,
            )
        except (GitFailed, GitTimedOut):
            raise ChangeRefused("patch", "", "does not apply") from None
        index.read(True)
        for name in _paths(index) - before:
            if not is_safe_file_path(name[0]):
                raise ChangeRefused("patch", name[0], f"changes {name[0]!r}, which is no path of a file")
        with writing():
            return str(index.write_tree(repo))


def _paths(index: pygit2.Index) -> set[tuple[str, str, int]]:
    return {(entry.path, str(entry.id), int(entry.mode)) for entry in index}
