"""Changes files of a branch in the bare repository: writes blobs, their trees, and a commit.

This module moves no refs. The caller moves the branch and expects the commit that the changes are based on.
So one of two concurrent changes fails, and is repeated on top of the other.
"""

import re
from dataclasses import dataclass
from typing import Literal

import msgspec
import pygit2

from ingot_git.history.commits import CommitInfo, Person, commit_info, signature
from ingot_git.history.file_contents import Content, read_change
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.history.objects import is_safe_file_path
from ingot_git.process.disk import writing
from ingot_git.process.errors import GitError, ObjectNotFound, RefNotFound
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, is_empty, ref_target
from ingot_git.refs.trees import DEEPEST, FOLDER, entry_at, normal_mode
from ingot_git.storage.scratch import staged

Operation = Literal["create", "update", "upload", "rename", "delete"]
Refusal = Literal["path", "exists", "missing", "sha", "branch-exists", "patch", "conflict"]

_FILE, _EXECUTABLE = 0o100644, 0o100755
_TRAILER = re.compile(r"[A-Za-z0-9-]+: ")
MOST_FOLDERS = 1_000
"""Folders that one commit may change: each is an object, which is flushed to disk."""


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file. ``sha`` is the id of the replaced blob, ``from_path`` the old path of the file.

    Without ``content`` a rename keeps the content.
    """

    operation: Operation
    path: str
    content: bytes | None = None
    sha: str = ""
    from_path: str = ""


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit of changes to ``branch``, written to ``new_branch``.

    With ``force`` an existing ``new_branch`` is overwritten. A ``signer`` replaces the committer. If the
    replaced committer is not the author, a trailer of the message names the committer.
    """

    branch: str
    new_branch: str
    changes: tuple[FileChange, ...]
    message: str
    author: Person
    committer: Person
    force: bool = False
    signer: Signer | None = None


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """A commit that no ref reaches yet, and the ref change that publishes it.

    ``contents`` has the new file of each change, and None for a deleted file. It is empty for a patch or
    revert.
    """

    info: CommitInfo
    move: RefChange
    contents: tuple[Content | None, ...]


class ChangeRefused(GitError):
    """A change does not apply to the branch; nothing was written.

    ``number`` is the index of the change, from 0.
    """

    def __init__(self, reason: Refusal, path: str, text: str) -> None:
        self.reason, self.path, self.number = reason, path, 0
        super().__init__(text)


def prepare_commit(repo: pygit2.Repository, new: NewCommit) -> PreparedCommit:
    """Write the commit of the changes.

    Raises:
        RefNotFound: the branch does not exist, and the repository is not empty.
        ChangeRefused: a change does not apply, or ``new_branch`` exists.
        UnsafeObject: a push may not contain one of the files.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    root = commit_info(repo, tip).tree if tip else None
    with staged(repo) as view:
        edit = TreeEdit(view, root)
        for number, change in enumerate(new.changes):
            try:
                edit.apply(change)
            except ChangeRefused as error:
                error.number = number
                raise
        tree = edit.write()
        info = commit_info(view, write_commit(view, tip, tree, new))
        view.keep(info.oid)
        contents = tuple(
            None if change.operation == "delete" else _content(view, tree, change.path, info.oid)
            for change in new.changes
        )
    return PreparedCommit(info, RefChange(BRANCHES + new.new_branch, expected, info.oid), contents)


def branch_tips(repo: pygit2.Repository, branch: str, new_branch: str, *, force: bool) -> tuple[str, str]:
    """Return the ids of the base commit and of the current tip of ``new_branch``.

    The base is empty in an empty repository. The tip is all zeros if ``new_branch`` does not exist.

    Raises:
        RefNotFound: ``branch`` does not exist, and the repository is not empty.
        ChangeRefused: another branch ``new_branch`` exists, and ``force`` is False.
    """
    tip = ref_target(repo, BRANCHES + branch)
    if tip is None and not is_empty(repo):
        raise RefNotFound("no such branch")
    if new_branch == branch:
        return tip or "", tip or ZERO_OID
    present = ref_target(repo, BRANCHES + new_branch)
    if present is not None and not force:
        raise ChangeRefused("branch-exists", "", f"there is a branch {new_branch!r} already")
    return tip or "", present or ZERO_OID


def write_commit(repo: pygit2.Repository, parent: str, tree: str, new: NewCommit) -> str:
    """Write a commit and return its id. Without a parent it starts a history."""
    author, committer = signature(new.author), signature(new.committer)
    message = new.message
    if new.signer is not None and (author.name, author.email) != (committer.name, committer.email):
        message = _with_trailer(message, f"Co-committed-by: {committer.name} <{committer.email}>")
    return create_commit(
        repo,
        author=new.author,
        committer=new.committer,
        message=message,
        tree=tree,
        parents=[parent] if parent else [],
        signer=new.signer,
    )


def _with_trailer(message: str, trailer: str) -> str:
    """Add a trailer to a message, in the last paragraph if that has trailers (git-interpret-trailers(1))."""
    text = message.rstrip("\n")
    *others, last = text.split("\n\n")
    follows = others and all(_TRAILER.match(line) for line in last.split("\n"))
    return f"{text}\n{trailer}\n" if follows else f"{text}\n\n{trailer}\n"


def _content(repo: pygit2.Repository, tree: str, path: str, commit: str) -> Content | None:
    try:
        entry = entry_at(repo, tree, path)
    except ObjectNotFound:
        return None  # a later change of the same commit removed it
    data = repo.odb.read(entry.oid)[1] if entry.kind == "file" else None
    return Content(entry, len(data or b""), data, last_change=read_change(repo, commit))


class _Folder:
    """One folder that is being changed. ``entries`` are its changed entries; None marks a removed entry."""

    def __init__(self, tree: pygit2.Tree | None) -> None:
        self._tree = tree
        self.entries: dict[str, tuple[int, str] | None] = {}
        self.folders: dict[str, _Folder] = {}

    def entry(self, name: str) -> tuple[int, str] | None:
        """Return mode and id of an entry after the changes; None if it does not exist.

        The id of a changed folder is empty, because the folder is not written yet.
        """
        if name in self.folders:
            return (FOLDER, "") if self.folders[name].has_entries() else None
        if name in self.entries:
            return self.entries[name]
        if self._tree is None:
            return None
        try:
            entry = self._tree[name]
        except KeyError:
            return None
        return normal_mode(entry.filemode), str(entry.id)

    def has_entries(self) -> bool:
        names = {entry.name or "" for entry in self._tree or ()} | self.entries.keys() | self.folders.keys()
        return any(self.entry(name) is not None for name in names)

    def put(self, name: str, entry: tuple[int, str] | None) -> None:
        self.folders.pop(name, None)
        self.entries[name] = entry

    @writing()
    def write(self, repo: pygit2.Repository) -> str:
        """Write the tree and return its id; empty if the folder has no entries left."""
        builder = repo.TreeBuilder(self._tree) if self._tree is not None else repo.TreeBuilder()
        for name, folder in self.folders.items():
            oid = folder.write(repo)
            self.entries[name] = (FOLDER, oid) if oid else None
        for name, entry in self.entries.items():
            if entry is not None:
                builder.insert(name, entry[1], entry[0])
            elif builder.get(name) is not None:
                builder.remove(name)
        return str(builder.write()) if len(builder) else ""


class TreeEdit:
    """A tree with pending changes; only changed folders are read."""

    def __init__(self, repo: pygit2.Repository, root: str | None) -> None:
        self._repo = repo
        self._root = _Folder(self._tree(root) if root else None)
        self._contents: list[bytes] = []
        self._folders_left = MOST_FOLDERS

    def apply(self, change: FileChange) -> None:
        """Apply one change in memory. Raises ChangeRefused."""
        moves = change.operation in ("update", "rename")
        source = (change.from_path if moves else "") or change.path
        for path in {change.path, source}:
            _require_plain(path)
        before = self._file(source)
        if change.operation == "create":
            if change.from_path not in ("", change.path):
                raise ChangeRefused("sha", change.from_path, "is required: the sha of the file that is moved")
            before = None
        elif before is None and change.operation != "upload":
            raise ChangeRefused("missing", source, "there is no such file")
        self._require_sha(change, source, before)
        if change.operation == "delete":
            self._remove(source)
            return
        if change.path != source:
            self._remove(source)
        if change.path != source or before is None:
            self._require_free(change)
        mode = before[0] if before is not None else _FILE
        if change.content is None and change.operation == "rename" and before is not None:
            self._put(change.path, mode, before[1])
        else:
            content = change.content or b""
            self._contents.append(content)
            self._put(change.path, mode, str(pygit2.hash(content)))

    def replace(self, path: str, entry: tuple[int, str] | None) -> None:
        """Set the entry at a path; None removes it.

        Raises ChangeRefused if the path is a folder, or if one of its parents is not a folder.
        """
        folder, name = self._folder(path), path.rpartition("/")[2]
        present = folder.entry(name)
        if present is not None and present[0] == FOLDER:
            raise ChangeRefused("path", path, "is a folder, a link or a submodule")
        folder.put(name, entry)

    @writing()
    def write(self) -> str:
        """Write the changed files and folders. Return the id of the root tree."""
        for content in self._contents:
            self._repo.create_blob(content)
        return self._root.write(self._repo) or str(self._repo.TreeBuilder().write())

    @staticmethod
    def _require_sha(change: FileChange, source: str, before: tuple[int, str] | None) -> None:
        if before is None:
            if change.sha:
                raise ChangeRefused("sha", source, "there is no file with that sha")
            return
        if change.operation == "upload" and not change.sha:
            return
        if not change.sha:
            raise ChangeRefused("sha", source, "is required: the sha of the file that is changed")
        if change.sha.lower() != before[1]:
            raise ChangeRefused("sha", source, f"does not match: the file has {before[1]}")

    def _require_free(self, change: FileChange) -> None:
        if self._folder(change.path).entry(change.path.rpartition("/")[2]) is not None:
            raise ChangeRefused("exists", change.path, "there is something at this path already")

    def _file(self, path: str) -> tuple[int, str] | None:
        """Return the file at a path, or None.

        Raises ChangeRefused if the path is a folder, link or submodule.
        """
        entry = self._folder(path).entry(path.rpartition("/")[2])
        if entry is not None and entry[0] not in (_FILE, _EXECUTABLE):
            raise ChangeRefused("path", path, "is a folder, a link or a submodule")
        return entry

    def _folder(self, path: str) -> _Folder:
        """Return the parent folder of a path, which is written again.

        Raises ChangeRefused if a parent is not a folder, or if more than ``MOST_FOLDERS`` folders would
        change.
        """
        folder = self._root
        for name in path.split("/")[:-1]:
            if name not in folder.folders:
                entry = folder.entry(name)
                if entry is not None and entry[0] != FOLDER:
                    raise ChangeRefused("path", path, f"{name!r} is no folder")
                self._folders_left -= 1
                if self._folders_left < 0:
                    raise ChangeRefused("path", path, f"more than {MOST_FOLDERS} folders would change")
                folder.folders[name] = _Folder(self._tree(entry[1]) if entry is not None else None)
            folder = folder.folders[name]
        return folder

    def _put(self, path: str, mode: int, oid: str) -> None:
        self._folder(path).put(path.rpartition("/")[2], (mode, oid))

    def _remove(self, path: str) -> None:
        self._folder(path).put(path.rpartition("/")[2], None)

    def _tree(self, oid: str) -> pygit2.Tree:
        tree: object = self._repo.get(oid)
        if not isinstance(tree, pygit2.Tree):
            raise ObjectNotFound("no such tree")
        return tree


def _require_plain(path: str) -> None:
    if not is_safe_file_path(path) or path.count("/") >= DEEPEST or len(path.encode()) > 4096:
        raise ChangeRefused("path", path, "is no path of a file")
