"""Finds the files in the first of several folders that exists."""

from collections.abc import Sequence

import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.refs import get_branch
from ingot_git.refs.trees import FOLDER, entry_at, list_folder

MOST_ENTRIES = 1000


def files_of_first_folder(
    repo: pygit2.Repository, branch: str, folders: Sequence[str], *, most: int, most_bytes: int
) -> dict[str, bytes | None]:
    """Return the contents of files by path, from the first of ``folders`` that exists.

    The files are from the latest commit of a branch, up to ``most`` of them. The content is None for a file
    that is larger than ``most_bytes``. The result is empty if no folder exists. Raises RefNotFound,
    OutputTooLarge.
    """
    tree = str(find_commit(repo, get_branch(repo, branch).oid).tree_id)
    for folder in folders:
        try:
            entry_of_folder = entry_at(repo, tree, folder)
        except ObjectNotFound:
            continue
        if entry_of_folder.mode == FOLDER:
            entries = list_folder(repo, entry_of_folder.oid, folder, most=MOST_ENTRIES)
            files = [entry for entry in entries if entry.kind == "file"][:most]
            return {entry.path: _content(repo, entry.oid, most_bytes) for entry in files}
    return {}


def _content(repo: pygit2.Repository, oid: str, most_bytes: int) -> bytes | None:
    if repo.odb.read_header(oid)[1] > most_bytes:
        return None
    return bytes(repo.odb.read(oid)[1])
