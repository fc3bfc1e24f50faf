"""Answers of git for a plain bare repository, and the content of its objects."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from .graph import Graph
from .histories import ENVIRONMENT, History, Objects, build, run_git

_PERSON = re.compile(rb"(.*)<([^>]*)> (-?\d+) ([+-]\d+)", re.DOTALL)
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_HEADERS = re.compile(r"[0-9a-f]{40} [0-9a-f]{40}\n")
_KINDS = {"040000": "tree", "160000": "commit"}
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Person(NamedTuple):
    name: str
    email: str
    seconds: int


class RawCommit(NamedTuple):
    """A commit as its object says, its texts decoded by its own encoding."""

    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


class Entry(NamedTuple):
    """An entry of a tree."""

    mode: str
    kind: str
    oid: str
    size: int
    path: str


@dataclass
class Plain:
    """A bare repository that only git reads."""

    path: Path
    history: History
    objects: Objects
    _reader: subprocess.Popen[bytes]

    def git(self, *arguments: str | Path, text: bytes = b"", accepted: tuple[int, ...] = (0,)) -> bytes:
        return run_git(*arguments, cwd=self.path, text=text, accepted=accepted)

    def read(self, oid: str) -> tuple[str, bytes]:
        """Kind and content of an object. Raises KeyError."""
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.write(f"{oid}\n".encode())
        self._reader.stdin.flush()
        words = self._reader.stdout.readline().decode().split()
        if words[-1] == "missing":
            raise KeyError(oid)
        data = self._reader.stdout.read(int(words[2]) + 1)[:-1]
        return words[1], data

    def commit(self, oid: str) -> RawCommit:
        head, _, message = self.read(oid)[1].partition(b"\n\n")
        fields = [line.partition(b" ")[::2] for line in head.split(b"\n")]
        encoding = next((value.decode() for key, value in fields if key == b"encoding"), "utf-8")
        by_key = dict(fields)
        return RawCommit(
            by_key[b"tree"].decode(),
            tuple(value.decode() for key, value in fields if key == b"parent"),
            _person(by_key[b"author"], encoding),
            _person(by_key[b"committer"], encoding),
            decoded(message, encoding),
        )

    @cached_property
    def refs(self) -> dict[str, str]:
        """Branches, tags and notes: what is pushed."""
        listed = self.git(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/notes"
        )
        return {name: oid for oid, name in (line.split(" ", 1) for line in listed.decode().splitlines())}

    @cached_property
    def graph(self) -> Graph:
        """Of the commits of the history."""
        commits = {oid: self.commit(oid) for oid in self.objects.commits}
        times = {oid: commit.committer.seconds for oid, commit in commits.items()}
        return Graph({oid: commit.parents for oid, commit in commits.items()}, times)

    @cached_property
    def reachable(self) -> frozenset[str]:
        """Commits that a branch or a tag has."""
        return frozenset().union(*(self.graph.ancestors(oid) for oid in self.tips.values()))

    @cached_property
    def tips(self) -> dict[str, str]:
        """The commits of all refs that have one, without those of notes."""
        peeled = {
            name: self.peeled(oid) for name, oid in self.refs.items() if not name.startswith("refs/notes/")
        }
        return {name: commit for name, commit in peeled.items() if commit is not None}

    def peeled(self, oid: str, kind: str = "commit") -> str | None:
        """The commit, or another kind of object, that a ref leads to."""
        at, data = self.read(oid)
        while at == "tag":
            oid = data.split(b"\n", 1)[0].removeprefix(b"object ").decode()
            at, data = self.read(oid)
        return oid if at == kind else None

    def entries(self, tree: str, *options: str) -> list[Entry]:
        """Return the output of git-ls-tree(1)."""
        listed = self.git("ls-tree", "-z", "-l", *options, tree).decode("utf-8", "replace")
        entries = []
        for line in listed.split("\0")[:-1]:
            words, path = line.split("\t", 1)
            mode, kind, oid, size = words.split()
            entries.append(Entry(mode, kind, oid, 0 if size == "-" else int(size), path))
        return entries

    def at(self, commit: str, path: str) -> Entry | None:
        """Return the entry of a commit at a path."""
        return self.files(commit).get(path)

    def files(self, commit: str) -> dict[str, Entry]:
        """Files and folders of a commit by path, as ``entries`` lists them, without a process for each."""
        if commit not in self._files:
            below = self._below(self.commit(commit).tree)
            self._files[commit] = {entry.path: entry for entry in below}
        return self._files[commit]

    @cached_property
    def _files(self) -> dict[str, dict[str, Entry]]:
        return {}

    def _below(self, tree: str, prefix: bytes = b"") -> Iterator[Entry]:
        """The entries of a tree and of its folders."""
        if tree not in self._trees:
            self._trees[tree] = [self._entry(*fields) for fields in _ENTRY.findall(self.read(tree)[1])]
        for name, entry in self._trees[tree]:
            yield entry._replace(path=(prefix + name).decode("utf-8", "replace"))
            if entry.kind == "tree":
                yield from self._below(entry.oid, prefix + name + b"/")

    @cached_property
    def _trees(self) -> dict[str, list[tuple[bytes, Entry]]]:
        return {}

    def _entry(self, octal: bytes, name: bytes, raw: bytes) -> tuple[bytes, Entry]:
        """An entry as git-ls-tree(1) shows it: old modes of files are those of today."""
        mode, oid = f"{int(octal, 8):06o}", raw.hex()
        if mode.startswith("100"):
            mode = "100755" if int(octal, 8) & 0o100 else "100644"
        kind = _KINDS.get(mode, "blob")
        return name, Entry(mode, kind, oid, len(self.read(oid)[1]) if kind == "blob" else 0, "")

    def changes(self, commit: str) -> tuple[list[tuple[str, str]], int, int]:
        """Files with their statuses, and lines added and deleted, against the first parent."""
        return self._changes[self._first_trees[commit]]

    @cached_property
    def _first_trees(self) -> dict[str, tuple[str, str]]:
        """The trees of the first parent and of the commit, by its id."""
        trees = {oid: self.commit(oid).tree for oid in self.objects.commits}
        parents = self.graph.parents
        return {
            oid: (trees[parents[oid][0]] if parents[oid] else EMPTY_TREE, tree) for oid, tree in trees.items()
        }

    @cached_property
    def _changes(self) -> dict[tuple[str, str], tuple[list[tuple[str, str]], int, int]]:
        """Output of git-diff-tree(1) for all commits, by the trees that it compares; one process for all."""
        pairs = list(dict.fromkeys(self._first_trees.values()))
        listed = self.git(
            "diff-tree", "--stdin", "-r", "-z", "--no-renames", "--raw", "--numstat",
            text="".join(f"{before} {after}\n" for before, after in pairs).encode(),
        )  # fmt: skip
        changes: dict[tuple[str, str], tuple[list[tuple[str, str]], int, int]] = {}
        before, after, files, added, deleted = "", "", list[tuple[str, str]](), 0, 0
        fields = iter(listed.decode("utf-8", "replace").split("\0"))
        for field in fields:
            *headers, rest = field.split("\n") if _HEADERS.match(field) else [field]
            for header in headers:
                before, after = header.split(" ")
                files, added, deleted = [], 0, 0
                changes[before, after] = files, added, deleted
            if rest.startswith(":"):
                status = {"A": "added", "D": "removed"}.get(rest[-1], "modified")
                files.append((next(fields), status))
            elif rest:
                one, other, _ = rest.split("\t", 2)
                added += int(one) if one != "-" else 0
                deleted += int(other) if other != "-" else 0
            changes[before, after] = sorted(files), added, deleted
        return changes

    def mailbox(self, revisions: Sequence[str]) -> bytes | None:
        """Output of git-format-patch(1) for commits; None where it refuses a date."""
        options = ("--stdout", "--binary", "--abbrev=7", "--no-signature")
        try:
            return self.git("format-patch", *options, *revisions)
        except subprocess.CalledProcessError as error:
            if b"fatal: Timestamp" not in error.stderr:
                raise
            return None

    def patch_ids(self, commits: Sequence[str]) -> dict[str, str]:
        """Ids of patches by commit (git-patch-id(1)), without merges and empty commits."""
        text = "".join(f"{oid}\n" for oid in commits).encode()
        patches = self.git("diff-tree", "--stdin", "--root", "--binary", "--full-index", text=text)
        lines = self.git("patch-id", "--stable", text=patches).decode().splitlines()
        return {oid: patch for patch, oid in (line.split(" ") for line in lines)}

    def object_ids(self, *revisions: str) -> frozenset[str]:
        """All objects that some commits or refs lead to."""
        if revisions not in self._object_ids:
            listed = self.git("rev-list", "--objects", "--no-object-names", *(revisions or ("--all",)))
            self._object_ids[revisions] = frozenset(listed.decode().split())
        return self._object_ids[revisions]

    @cached_property
    def _object_ids(self) -> dict[tuple[str, ...], frozenset[str]]:
        return {}

    def merged_tree(self, ours: str, theirs: str) -> str | None:
        """Return the tree of a merge, None if there is a conflict (git-merge-tree(1)). Attributes are those
        of ``ours``.

        git-merge(1) behaves so if ``ours`` is checked out: git reads attributes from the work tree.
        """
        if (ours, theirs) not in self._merged_trees:
            self._merged_trees[ours, theirs] = self._merge(ours, theirs)
        return self._merged_trees[ours, theirs]

    @cached_property
    def _merged_trees(self) -> dict[tuple[str, str], str | None]:
        return {}

    def _merge(self, ours: str, theirs: str) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            for path, entry in self.files(ours).items():
                if entry.kind == "blob" and path.rpartition("/")[2] == ".gitattributes":
                    file = Path(folder) / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(self.read(entry.oid)[1])
            location = (f"--git-dir={self.path}", f"--work-tree={folder}", "-c", "core.bare=false")
            options = ("merge-tree", "--write-tree", "--allow-unrelated-histories", ours, theirs)
            output = run_git(*location, *options, cwd=Path(folder), accepted=(0, 1)).decode(errors="replace")
        tree, _, rest = output.partition("\n")
        return None if "\nCONFLICT" in f"\n{rest}" else tree

    def replayed_tree(self, before: str, after: str, onto: str) -> str | None:
        """The tree ``onto`` with what changed from one tree to another, None if there is a conflict."""
        base = self.commit_tree(before)
        return self.merged_tree(self.commit_tree(onto, base), self.commit_tree(after, base))

    def commit_tree(self, tree: str, *parents: str) -> str:
        """A commit of a tree, of no ref."""
        options = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *options, "-m", "for a merge").decode().strip()

    def tree_with(self, tree: str, path: bytes, data: bytes | None) -> str:
        """The tree with a file of this content, or without the file."""
        index = self.path / "index-of-changes"
        index.unlink(missing_ok=True)
        environment = ENVIRONMENT | {"GIT_INDEX_FILE": str(index)}

        def act(*arguments: str, text: bytes = b"") -> bytes:
            return subprocess.run(
                ["git", *arguments],
                cwd=self.path,
                env=environment,
                input=text,
                capture_output=True,
                check=True,
            ).stdout

        act("read-tree", tree)
        mode = act("ls-files", "-s", "-z", "--", os.fsdecode(path)).split(b" ", 1)[0] or b"100644"
        if data is None:
            act("update-index", "-z", "--index-info", text=b"0 %s\t%s\0" % (b"0" * 40, path))
        else:
            blob = act("hash-object", "-w", "--stdin", text=data).strip()
            act("update-index", "-z", "--index-info", text=b"%s %s\t%s\0" % (mode, blob, path))
        return act("write-tree").decode().strip()


def _person(raw: bytes, encoding: str) -> Person:
    matched = _PERSON.fullmatch(raw)
    assert matched is not None, raw
    name, email = (decoded(text.strip(), encoding) for text in matched.group(1, 2))
    return Person(name, email, int(matched[3]))


def decoded(raw: bytes, encoding: str) -> str:
    """A text of a commit; of an encoding that there is not as UTF-8."""
    try:
        return raw.decode(encoding, "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


@contextmanager
def plain(history: History, folder: Path) -> Iterator[Plain]:
    """Make the repository of a history, and read its objects by one process."""
    objects = build(history, folder)
    reader = subprocess.Popen(
        ["git", "cat-file", "--batch"],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Plain(folder, history, objects, reader)
    finally:
        reader.stdin.close()  # type: ignore[union-attr]
        reader.wait()


def all_objects(path: Path) -> frozenset[str]:
    """Every object that a repository has."""
    options: Sequence[str] = ("--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
    return frozenset(run_git("cat-file", *options, cwd=path).decode().split())
