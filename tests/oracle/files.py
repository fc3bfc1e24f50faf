"""Files and folders of the API, compared with git."""

import io
import random
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from .comparisons import Question, Status
from .ingot import Repository, from_base64
from .plain import Entry, Plain
from .reads import MISSING, Reads

KINDS = {"040000": "dir", "120000": "symlink", "160000": "submodule"}
ROOT_QUERY = {"per_page": 1000}


class Files:
    """The questions about one repository."""

    def __init__(self, plain: Plain, repository: Repository, chance: random.Random) -> None:
        self.plain, self.repository, self.random = plain, repository, chance
        self.reads = Reads(plain, repository, chance)

    def questions(self) -> Iterator[Question]:
        for name, commit in self.reads.some(self.reads.names(), 3):
            yield from self.trees(name, commit)
            yield from self.contents(name, commit)
            yield from self.texts(name, commit)
        for name, commit in self.reads.some(self.reads.names(), 1):
            if not name.endswith((".diff", ".patch")):
                yield self.archive(name, commit)
        yield from self.trees_of_tags()

    def trees(self, name: str, commit: str) -> Iterator[Question]:
        """Folders, with and without those below, by name and by id, in pages."""
        tree = self.plain.commit(commit).tree
        for recursive in ("", "1"):
            options = ("-r", "-t") if recursive else ()
            yield Question(
                "tree", f"git/trees/{name}?recursive={recursive}",
                partial(self.plain.entries, tree, *options),
                partial(self._tree, "git", "trees", name, recursive=recursive, per_page=1000),
            )  # fmt: skip
        folders = [entry for entry in self.plain.files(commit).values() if entry.kind == "tree"]
        for entry in self.reads.some(folders, 2):
            yield Question(
                "tree", f"git/trees/{entry.oid}",
                partial(self.plain.entries, entry.oid), partial(self._tree, "git", "trees", entry.oid,
                                                                per_page=1000),
            )  # fmt: skip
        page, size = self.random.randint(1, 3), self.random.randint(1, 5)
        yield Question(
            "tree.page", f"git/trees/{name}?recursive=1&page={page}&per_page={size}",
            lambda: self.plain.entries(tree, "-r", "-t")[(page - 1) * size : page * size],
            partial(self._tree, "git", "trees", name, recursive="1", page=page, per_page=size),
        )  # fmt: skip
        blobs = [entry for entry in self.plain.files(commit).values() if entry.kind == "blob"]
        for entry in self.reads.some(blobs, 2):
            yield Question(
                "blob", f"git/blobs/{entry.oid}", lambda entry=entry: self.plain.read(entry.oid)[1],
                lambda entry=entry: _decoded(self.repository.json("git", "blobs", entry.oid)),
            )  # fmt: skip

    def _tree(self, *path: str, **query: Any) -> Any:
        answer = self.repository.json(*path, **query)
        if isinstance(answer, Status):
            return answer
        return [
            Entry(one["mode"], one["type"], one["sha"], one["size"], one["path"]) for one in answer["tree"]
        ]

    def contents(self, name: str, commit: str) -> Iterator[Question]:
        """Ask for the item at a path: content, kind, target, submodule URL, and its last commit."""
        paths = sorted(path for path in self.plain.files(commit) if path.strip("/") == path)
        for path in ["", *self.reads.some(paths, 5)]:
            yield Question(
                "contents", f"contents/{path!r}?ref={name}",
                partial(self._contents, commit, path), partial(self._answered_contents, path, name),
            )  # fmt: skip
        for path in self.reads.some(paths, 2):
            yield Question(
                "contents.change", f"contents-ext/{path!r}?ref={name}&includes=commit_metadata",
                lambda path=path: self.reads.graph.changing(commit, partial(self.reads.at, path))[0],
                partial(self._last_change, path, name),
            )  # fmt: skip
        modules = [path for path in paths if self.plain.files(commit)[path].mode == "160000"]
        for path in modules[:2]:
            yield Question(
                "contents.module", f"contents/{path!r}?ref={name}",
                partial(self._module_url, commit, path), partial(self._answered_module, path, name),
            )  # fmt: skip

    def _contents(self, commit: str, path: str) -> Any:
        files = self.plain.files(commit)
        entry = files.get(path)
        if entry is not None and entry.kind != "tree":
            return self._item(entry, with_content=True)
        prefix = f"{path}/" if path else ""
        inside = [
            one
            for one in files.values()
            if one.path.startswith(prefix) and "/" not in one.path[len(prefix) :]
        ]
        return sorted(self._item(one, with_content=False) for one in inside)

    def _item(self, entry: Entry, *, with_content: bool) -> Any:
        data = self.plain.read(entry.oid)[1] if entry.kind == "blob" else None
        target = data.decode("utf-8", "replace") if entry.mode == "120000" and data is not None else ""
        content = data if with_content and entry.mode.startswith("100") else None
        name = entry.path.rpartition("/")[2]
        return (entry.path, name, KINDS.get(entry.mode, "file"), entry.oid, target, content or b"")

    def _answered_contents(self, path: str, name: str) -> Any:
        parts = ("contents", path) if path else ("contents",)
        answer = self.repository.json(*parts, ref=name)
        if isinstance(answer, Status):
            return answer
        return sorted(map(_shown_item, answer)) if isinstance(answer, list) else _shown_item(answer)

    def _last_change(self, path: str, name: str) -> Any:
        answer = self.repository.json("contents-ext", path, ref=name, includes="commit_metadata")
        if isinstance(answer, Status):
            return answer
        if "file_contents" in answer:
            return answer["file_contents"]["last_commit_sha"]
        parent, _, own = path.rpartition("/")
        parts = ("contents-ext", parent) if parent else ("contents-ext",)
        listed = self.repository.json(*parts, ref=name, includes="commit_metadata")
        if isinstance(listed, Status):
            return listed
        return next(one["last_commit_sha"] for one in listed["dir_contents"] if one["name"] == own)

    def _module_url(self, commit: str, path: str) -> str | None:
        """As git-config(1) reads `.gitmodules`."""
        blob = f"{commit}:.gitmodules"
        try:
            listed = self.plain.git(
                "config",
                "--blob",
                blob,
                "-z",
                "--get-regexp",
                r"^submodule\..*\.(path|url)$",
                accepted=(0, 1),
            )
        except Exception:  # noqa: BLE001 - there is none, or git cannot read it
            return None
        sections: dict[str, dict[str, str]] = {}
        for line in listed.decode("utf-8", "replace").split("\0")[:-1]:
            key, _, value = line.partition("\n")
            section, _, variable = key.rpartition(".")
            sections.setdefault(section, {})[variable] = value
        urls = [one.get("url") for one in sections.values() if one.get("path") == path]
        return urls[-1] if urls else None

    def _answered_module(self, path: str, name: str) -> Any:
        answer = self.repository.json("contents", path, ref=name)
        return answer if isinstance(answer, Status) else answer["submodule_git_url"]

    def texts(self, name: str, commit: str) -> Iterator[Question]:
        """Files as they are, and which commit each of their lines comes from."""
        blobs = [one for one in self.plain.files(commit).values() if one.kind == "blob"]
        for entry in self.reads.some(blobs, 2):
            for route in ("raw", "media"):
                yield Question(
                    "raw", f"{route}/{entry.path!r}?ref={name}",
                    lambda entry=entry: self.plain.read(entry.oid)[1],
                    partial(self.repository.bytes, route, entry.path, ref=name),
                )  # fmt: skip
        for entry in self.reads.some(blobs, 2):
            data = self.plain.read(entry.oid)[1]
            if data and b"\0" not in data and "\n" not in entry.path:
                yield Question(
                    "blame", f"blame/{entry.path!r}?ref={name}",
                    partial(self._blame, commit, entry.path), partial(self._answered_blame, entry.path, name),
                )  # fmt: skip

    def _blame(self, commit: str, path: str) -> Any:
        """The commit of each line, and the path in it."""
        text = self.plain.git("-c", "core.quotePath=false", "blame", "--porcelain", commit, "--", path)
        lines, paths, oid = [], {}, ""
        for line in text.decode("utf-8", "replace").split("\n"):
            if line.startswith("\t"):
                lines.append(oid)
                oid = ""
            elif oid and line.startswith("filename "):
                paths[oid] = _unquoted(line.removeprefix("filename "))
            elif not oid and line:
                oid = line.split(" ")[0]
        return lines, paths

    def _answered_blame(self, path: str, name: str) -> Any:
        answer = self.repository.json("blame", path, ref=name)
        if isinstance(answer, Status):
            return answer
        lines = [run["sha"] for run in answer["lines"] for _ in range(run["count"])]
        return lines, {commit["sha"]: commit["path"] for commit in answer["commits"]}

    def archive(self, name: str, commit: str) -> Question:
        return Question(
            "archive", f"archive/{name}.tar.gz",
            lambda: _members(self.plain.git("archive", "--format=tar", "--prefix=r/", commit)),
            partial(self._answered_archive, name),
        )  # fmt: skip

    def _answered_archive(self, name: str) -> Any:
        answer = self.repository.bytes("archive", f"{name}.tar.gz")
        return answer if isinstance(answer, Status) else _members(answer)

    def trees_of_tags(self) -> Iterator[Question]:
        """Tags of trees: the tree exists, but requests for a commit find none. Tags of blobs have neither."""
        for name, oid in self.plain.refs.items():
            if not name.startswith("refs/tags/") or self.plain.peeled(oid):
                continue
            tree = self.plain.peeled(oid, "tree")
            entries = self.plain.entries(tree) if tree else MISSING
            yield Question(
                "tree of a tag",
                f"git/trees/{name}",
                lambda entries=entries: entries,
                partial(self._tree, "git", "trees", name, per_page=1000),
            )
            first = next((one for one in entries if one.kind == "blob"), None) if tree else None
            path = first.path if first else "f"
            data = self.plain.read(first.oid)[1] if first else MISSING
            for route in ("raw", "contents"):
                yield Question(
                    f"{route} of a tag of a tree",
                    f"{route}/{path!r}?ref={name}",
                    lambda data=data: data,
                    partial(self._file, route, path, name),
                    lambda: [MISSING],
                )

    def _file(self, route: str, path: str, name: str) -> Any:
        if route == "raw":
            return self.repository.bytes("raw", path, ref=name)
        return _decoded(self.repository.json("contents", path, ref=name))


def _shown_item(one: Any) -> Any:
    content = from_base64(one["content"]) or b""
    return (one["path"], one["name"], one["type"], one["sha"], one["target"] or "", content)


def _decoded(answer: Any) -> Any:
    return answer if isinstance(answer, Status) else from_base64(answer["content"])


def _members(archive: bytes) -> dict[str, tuple[str, str, bytes]]:
    """Mode, target and content of each member, by its path without the first folder."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = {}
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            path = "/".join(PurePosixPath(member.name).parts[1:])
            members[path] = (f"{member.mode:o}", member.linkname, file.read() if file else b"")
    return members


def _unquoted(path: str) -> str:
    """A path as git writes it where it has odd characters, with core.quotePath off."""
    if not path.startswith('"'):
        return path
    escapes = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
    letters = iter(path[1:-1])
    return "".join(escapes[next(letters)] if letter == "\\" else letter for letter in letters)
