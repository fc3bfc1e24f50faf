"""Copies the files of a template into a new repository, and fills in names where the template asks for it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from ingot_git.history.commits import Person, find_commit
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.history.objects import is_safe_file_path
from ingot_git.process.disk import writing
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge, RepositoryDamaged
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, get_branch, move_ref
from ingot_git.refs.trees import SUBMODULE, Entry, blob_sizes, entry_at, list_tree
from ingot_git.storage.scratch import staged

PATTERNS = ".gitea/template"
"""The file whose patterns select the files with names to fill in. It is not copied."""
MOST_FILES = 10_000
MOST_BYTES = 200 * 1024 * 1024
"""Limit for all files, before and after names are filled in."""
MOST_FILLED_BYTES = 1024 * 1024
"""Bytes of a file in which names are filled in; a larger file is copied unchanged."""
MOST_PATTERN_BYTES = 16 * 1024
TOO_LARGE = "the template is too large to be copied"

FindPaths = Callable[[Sequence[str], Sequence[str]], Collection[str]]
"""Returns the paths (second argument) that match the patterns (first argument)."""


def copy_template(
    repo: pygit2.Repository,
    source: Path,
    source_branch: str,
    branch: str,
    author: Person,
    fill: Callable[[str], str],
    find_paths: FindPaths,
    signer: Signer | None = None,
) -> str:
    """Create the first commit of ``branch`` from the latest files of ``source_branch``. Return its id.

    ``fill`` is applied to contents and paths of files that match a pattern in ``PATTERNS``.

    Raises:
        RefNotFound: ``source_branch`` does not exist.
        RefMoved: ``branch`` exists.
        RepositoryDamaged: an object of the template is missing.
        OutputTooLarge: the template is too large.
        UnsafeObject: a push may not contain a file of the template.
    """
    template = pygit2.Repository(str(source))
    tree = str(find_commit(template, get_branch(template, source_branch).oid).tree_id)
    listed = list_tree(template, tree, recursive=True, most=MOST_FILES)
    files = [entry for entry in listed.entries if entry.kind != "dir" and entry.path != PATTERNS]
    if not listed.complete or sum(blob_sizes(template, files).values()) > MOST_BYTES:
        raise OutputTooLarge(TOO_LARGE)
    filled = find_paths(_patterns(template, tree), [entry.path for entry in files])
    with staged(repo) as view:
        index = _index(view, template, files, filled, fill)
        with writing():
            first_tree = index.write_tree(view)
        commit = create_commit(
            view,
            author=author,
            committer=author,
            message="Initial commit\n",
            tree=first_tree,
            parents=[],
            signer=signer,
        )
        view.keep(commit)
    move_ref(repo, RefChange(BRANCHES + branch, ZERO_OID, commit))
    return commit


def _index(
    repo: pygit2.Repository,
    template: pygit2.Repository,
    files: Sequence[Entry],
    filled: Collection[str],
    fill: Callable[[str], str],
) -> pygit2.Index:
    """Write the files of the new repository. Return their index. Raises OutputTooLarge, RepositoryDamaged."""
    index, room = pygit2.Index(), MOST_BYTES
    for entry in files:
        path, oid = entry.path, pygit2.Oid(hex=entry.oid)
        if entry.mode != SUBMODULE:
            content = _read(template, oid)
            if path in filled:
                content = _filled(content, fill)
                renamed = fill(path)
                path = renamed if is_safe_file_path(renamed) else path
            room -= len(content)
            if room < 0:
                raise OutputTooLarge(TOO_LARGE)
            with writing():
                oid = repo.create_blob(content)
        index.add(pygit2.IndexEntry(path, oid, FileMode(entry.mode)))
    return index


def _read(template: pygit2.Repository, oid: pygit2.Oid) -> bytes:
    try:
        return template.odb.read(oid)[1]
    except KeyError:
        raise RepositoryDamaged("an object of the template is missing") from None


def _patterns(template: pygit2.Repository, tree: str) -> list[str]:
    """Return the patterns in the template's `PATTERNS` file; none if it is missing. Raises OutputTooLarge."""
    try:
        oid = entry_at(template, tree, PATTERNS).oid
        if template.odb.read_header(oid)[1] > MOST_PATTERN_BYTES:
            raise OutputTooLarge(f"{PATTERNS} of the template is too large")
        content = template.odb.read(oid)[1]
    except (ObjectNotFound, KeyError):
        return []
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    return [line.removeprefix("/") for line in lines if line and not line.startswith("#")]


def _filled(content: bytes, fill: Callable[[str], str]) -> bytes:
    """Return the content with names filled in; unchanged if it is large or binary."""
    if len(content) > MOST_FILLED_BYTES or b"\0" in content:
        return content
    try:
        return fill(content.decode()).encode()
    except UnicodeDecodeError:
        return content
