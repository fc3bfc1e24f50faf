"""Histories as data, so a failing one can be made smaller, and the bare repository that git makes of each."""

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "GIT_AUTHOR_NAME": "Ann Author",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann Author",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}
SECONDS = 300.0
MAIN = "main"
OLD_MODES = b"old"
"""The folder whose files have the mode 100664, which old versions of git wrote."""
Mode = Literal["100644", "100755", "120000", "160000"]
TargetKind = Literal["commit", "tree", "blob", "tag", "lookalike"]


@dataclass(frozen=True)
class File:
    """An entry of a tree that is no folder; of a submodule ``data`` is the hexadecimal id."""

    data: bytes
    mode: Mode = "100644"


Files = Mapping[bytes, File]


@dataclass(frozen=True)
class Commit:
    """``parents`` are numbers of earlier commits of the history; times are seconds since the epoch."""

    parents: tuple[int, ...]
    files: Files
    committed: int
    authored: int
    author: bytes = b"Ann Author <ann@example.org>"
    committer: bytes = b"Carl Committer <carl@example.org>"
    zone: bytes = b"+0000"
    message: bytes = b"Change\n"
    encoding: bytes = b""


@dataclass(frozen=True)
class Tag:
    """A tag object if it has a ``message``, else a lightweight tag.

    ``number`` is a commit, or with ``kind`` tag an earlier tag. ``kind`` selects the target:

    - tree: the tree of the commit.
    - blob: the first file of the commit.
    - lookalike: a blob whose id begins like the id of the commit.
    """

    name: str
    kind: TargetKind
    number: int
    message: bytes = b""
    tagger: bytes = b"Tom Tagger <tom@example.org>"


@dataclass(frozen=True)
class History:
    """All that is needed to make a repository. ``branches`` and ``notes`` have numbers of commits."""

    name: str
    commits: tuple[Commit, ...]
    branches: Mapping[str, int]
    tags: tuple[Tag, ...] = ()
    notes: Mapping[int, bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"history {self.name}"]
        for number, commit in enumerate(self.commits):
            before = self.commits[commit.parents[0]].files if commit.parents else {}
            changes = [
                f"{path!r}={f'{file.mode} ' if file.mode != '100644' else ''}{file.data[:40]!r}"
                for path, file in commit.files.items()
                if before.get(path) != file
            ]
            changes += [f"-{path!r}" for path in before if path not in commit.files]
            times = str(commit.committed) + (
                f"/{commit.authored}" if commit.authored != commit.committed else ""
            )
            odd = [text for text in (commit.encoding, commit.author, commit.message) if text not in _PLAIN]
            lines.append(
                f"  {number} {list(commit.parents)} at {times}: {' '.join(changes)} {odd or ''}".rstrip()
            )
        lines += [f"  branch {name!r} = {number}" for name, number in self.branches.items()]
        lines += [f"  tag {tag.name!r} of {tag.kind} {tag.number} {tag.message!r}" for tag in self.tags]
        lines += [f"  note of {number}: {text!r}" for number, text in self.notes.items()]
        return "\n".join(lines)

    def without_commit(self, number: int) -> "History | None":
        """A history in which the children of a commit have its parents; None if nothing can do without it."""
        if len(self.commits) == 1:
            return None
        parents = self.commits[number].parents

        def moved(other: int) -> int:
            return other - (other > number)

        commits = []
        for index, commit in enumerate(self.commits):
            if index != number:
                inherited = [new for old in commit.parents for new in (parents if old == number else (old,))]
                commits.append(replace(commit, parents=tuple(map(moved, dict.fromkeys(inherited)))))
        substitute = parents[0] if parents else (number + 1 if number + 1 < len(self.commits) else number - 1)
        return replace(
            self,
            commits=tuple(commits),
            branches={name: moved(substitute if at == number else at) for name, at in self.branches.items()},
            tags=tuple(
                tag
                if tag.kind == "tag"
                else replace(tag, number=moved(substitute if tag.number == number else tag.number))
                for tag in self.tags
            ),
            notes={moved(at): text for at, text in self.notes.items() if at != number},
        )

    def smaller(self) -> Iterator["History"]:
        """Histories with one thing less, the largest things first."""
        for number in range(len(self.tags) - 1, -1, -1):
            if not any(tag.kind == "tag" and tag.number >= number for tag in self.tags[number + 1 :]):
                yield replace(self, tags=self.tags[:number] + self.tags[number + 1 :])
        for name in self.branches:
            if name != MAIN:
                rest = {other: number for other, number in self.branches.items() if other != name}
                yield replace(self, branches=rest)
        for number in self.notes:
            yield replace(self, notes={at: text for at, text in self.notes.items() if at != number})
        for number in range(len(self.commits) - 1, -1, -1):
            if (without := self.without_commit(number)) is not None:
                yield without
        for path in sorted({path for commit in self.commits for path in commit.files}):
            fewer = [
                replace(commit, files={key: file for key, file in commit.files.items() if key != path})
                for commit in self.commits
            ]
            yield replace(self, commits=tuple(fewer))


_PLAIN = (b"", b"Ann Author <ann@example.org>", b"Change\n")


def run_git(*arguments: str | Path, cwd: Path, text: bytes = b"", accepted: tuple[int, ...] = (0,)) -> bytes:
    """Return the output of git. Raises CalledProcessError with its message for another exit code."""
    command = ["git", *map(str, arguments)]
    done = subprocess.run(
        command, check=False, cwd=cwd, input=text, env=ENVIRONMENT, capture_output=True, timeout=SECONDS
    )
    if done.returncode not in accepted:
        error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        error.add_note(done.stderr.decode(errors="replace"))
        raise error
    return done.stdout


@dataclass(frozen=True)
class Objects:
    """Ids in a repository: of the commits by their numbers, and of what each tag points to, by its name."""

    commits: tuple[str, ...]
    tags: Mapping[str, str]


def build(history: History, folder: Path) -> Objects:
    """Make the bare repository in ``folder``, which has all objects, and the refs of the history."""
    run_git("init", "-q", "--bare", f"--initial-branch={MAIN}", folder, cwd=folder.parent)
    numbers = folder / "marks"
    run_git(
        "fast-import",
        "--quiet",
        f"--export-marks={numbers}",
        cwd=folder,
        text=b"".join(_stream(history, folder)),
    )
    by_mark = dict(line.split(" ", 1) for line in numbers.read_text().splitlines())
    commits = tuple(by_mark[f":{number + 1}"] for number in range(len(history.commits)))
    tags: dict[str, str] = {}
    for tag in history.tags:
        tags[tag.name] = _tag(tag, history, folder, commits, tags)
    lines = [f"create refs/heads/{name} {commits[number]}" for name, number in history.branches.items()]
    lines += [f"create refs/tags/{name} {oid}" for name, oid in tags.items()]
    lines += [f"delete refs/import/{number}" for number in range(len(commits))]
    run_git("update-ref", "--stdin", cwd=folder, text="\n".join([*lines, ""]).encode())
    for number, text in history.notes.items():
        run_git("notes", "add", "-F", "-", commits[number], cwd=folder, text=text)
    return Objects(commits, tags)


def _stream(history: History, folder: Path) -> Iterator[bytes]:
    """Yield input for git-fast-import(1). A ref below refs/import/ keeps commits until the branches exist."""
    for number, commit in enumerate(history.commits):
        yield b"reset refs/import/%d\n\ncommit refs/import/%d\nmark :%d\n" % (number, number, number + 1)
        yield b"author %s %d %s\n" % (commit.author, commit.authored, commit.zone)
        yield b"committer %s %d %s\n" % (commit.committer, commit.committed, commit.zone)
        if commit.encoding:
            yield b"encoding %s\n" % commit.encoding
        yield b"data %d\n%s\n" % (len(commit.message), commit.message)
        for word, parent in zip((b"from", *[b"merge"] * len(commit.parents)), commit.parents, strict=False):
            yield b"%s :%d\n" % (word, parent + 1)
        yield b"deleteall\n"
        old = {path: file for path, file in commit.files.items() if path.startswith(OLD_MODES + b"/")}
        if old:
            yield b"M 040000 %s %s\n" % (_old_tree(old, folder).encode(), OLD_MODES)
        for path, file in commit.files.items():
            if file.mode == "160000":
                yield b"M 160000 %s %s\n" % (file.data, _quoted(path))
            elif path not in old:
                yield b"M %s inline %s\ndata %d\n%s\n" % (
                    file.mode.encode(),
                    _quoted(path),
                    len(file.data),
                    file.data,
                )
        yield b"\n"


def _old_tree(files: Files, folder: Path) -> str:
    """A tree with the mode 100664, which git-fast-import(1) refuses to write."""
    entries = b"".join(
        b"100664 %s\0%s" % (path.partition(b"/")[2], bytes.fromhex(_write("blob", file.data, folder)))
        for path, file in sorted(files.items())
    )
    return _write("tree", entries, folder)


def _write(kind: str, data: bytes, folder: Path) -> str:
    return (
        run_git("hash-object", "-t", kind, "-w", "--literally", "--stdin", cwd=folder, text=data)
        .decode()
        .strip()
    )


def _quoted(path: bytes) -> bytes:
    """As git-fast-import(1) reads a path with any bytes."""
    return b'"%s"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _tag(tag: Tag, history: History, folder: Path, commits: tuple[str, ...], tags: Mapping[str, str]) -> str:
    """The id that the ref of a tag has."""
    kind: str = tag.kind
    if tag.kind == "tag":
        target = tags[history.tags[tag.number].name]
        kind = run_git("cat-file", "-t", target, cwd=folder).decode().strip()
    elif tag.kind == "lookalike":
        target, kind = _write("blob", lookalike(commits[tag.number]), folder), "blob"
    elif tag.kind == "blob":
        listed = run_git("ls-tree", "-r", commits[tag.number], cwd=folder).split()
        target = listed[2].decode() if listed and listed[1] == b"blob" else _write("blob", b"alone\n", folder)
    else:
        target = run_git("rev-parse", f"{commits[tag.number]}^{{{tag.kind}}}", cwd=folder).decode().strip()
    if not tag.message:
        return target
    head = f"object {target}\ntype {kind}\ntag {tag.name}\n".encode()
    return _write("tag", head + b"tagger %s 1600000000 +0100\n\n%s" % (tag.tagger, tag.message), folder)


def lookalike(oid: str, digits: int = 4) -> bytes:
    """The content of a blob whose id begins with the same digits."""
    number = 0
    while True:
        data = b"%d\n" % number
        if hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest().startswith(oid[:digits]):
            return data
        number += 1
