"""Clones and fetches of every kind: what arrives is what git has, and git finds it whole."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .comparisons import Question
from .histories import run_git
from .ingot import Repository, git_of
from .plain import Plain, all_objects

VERSIONS = (0, 1, 2)
SOUND, REFUSED = "sound", "refused"
COMPLETE: tuple[str, list[str], list[str]] = (SOUND, [], [])
REST = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


@dataclass
class Fetches:
    """The questions about one repository; ``folder`` is for what they fetch."""

    plain: Plain
    repository: Repository
    random: random.Random
    folder: Path
    count: int = 0

    def __post_init__(self) -> None:
        for key in ("allowFilter", "allowAnySHA1InWant", "allowReachableSHA1InWant"):
            self.plain.git("config", f"uploadpack.{key}", "true")
        self.commits = sorted(self.plain.reachable)

    def questions(self) -> Iterator[Question]:
        """Some of each kind: a clone costs as much as twenty reads."""
        roots = [oid for oid in self.commits if not self.plain.graph.parents[oid]]
        yield self._by_id(self.random.choice(roots))
        yield self._by_id(self.random.choice(self.commits))
        yield self._unshallowed(11 if len(self.commits) > 11 else self.random.choice((1, 2, 3)))
        every = [
            *(partial(self._whole, version) for version in VERSIONS),
            partial(self._by_id, self.random.choice(self.commits)),
            partial(self._shallow, self.random.randint(1, 12)),
            partial(self._deepened, self.random.randint(1, 4), self.random.randint(1, 4)),
            partial(self._partial, "blob:none"),
            partial(self._partial, "tree:0"),
            self._single_branch,
            self._continued,
            self._since,
            self._excluded,
        ]
        for make in self.random.sample(every, 7):
            yield make()

    def _new(self) -> Path:
        self.count += 1
        return self.folder / f"copy-{self.count}"

    def _question(self, kind: str, text: str, expected: Any, ask: Any) -> Question:
        return Question(f"fetch.{kind}", text, expected if callable(expected) else lambda: expected, ask)

    def _version(self) -> tuple[str, str]:
        return "-c", f"protocol.version={self.random.choice(VERSIONS)}"

    def _whole(self, version: int) -> Question:
        """A mirror has all refs and the objects that these lead to."""

        def ask() -> Any:
            copy = self._new()
            failed = _failure(
                "-c",
                f"protocol.version={version}",
                "clone",
                "-q",
                "--mirror",
                self.repository.url,
                copy,
                cwd=self.folder,
            )
            return failed or (_soundness(copy), _refs(copy), all_objects(copy))

        return self._question(
            "mirror", f"clone --mirror, protocol {version}",
            lambda: (SOUND, self.plain.refs, self.plain.object_ids()), ask,
        )  # fmt: skip

    def _by_id(self, oid: str) -> Question:
        """A commit by its id, as CI does, with all that it leads to.

        Before protocol 2 only what a ref names is offered, by default of git, too.
        """
        version = self._version() if oid in self.plain.refs.values() else ("-c", "protocol.version=2")

        def ask() -> Any:
            copy = self._empty()
            failed = _failure(*version, "fetch", "-q", self.repository.url, oid, cwd=copy)
            return failed or self._needs(copy, oid)

        return self._question("id", f"{version[1]}: fetch {oid}", COMPLETE, ask)

    def _needs(self, copy: Path, oid: str) -> Any:
        """Return COMPLETE if a copy has all objects of a commit, and none that the repository lacks; else the
        difference.

        A server may send more than is needed, and git does so when it sends packs as they are.
        """
        arrived = all_objects(copy)
        missing, foreign = self.plain.object_ids(oid) - arrived, arrived - self.plain.object_ids()
        return _soundness(copy), sorted(missing), sorted(foreign)

    def _empty(self) -> Path:
        copy = self._new()
        run_git("init", "-q", "--bare", copy, cwd=self.folder)
        return copy

    def _shallow(self, depth: int) -> Question:
        """The nearest commits of all branches. git marks where they end by depth, also a commit without
        parents."""
        options = (*self._version(), "clone", "-q", "--bare", f"--depth={depth}", "--no-single-branch")
        return self._bounded("shallow", options, (), is_exact=True)

    def _deepened(self, depth: int, more: int) -> Question:
        options = (*self._version(), "clone", "-q", "--bare", f"--depth={depth}", "--no-single-branch")
        return self._bounded("deepen", options, ("fetch", "-q", f"--deepen={more}"), is_exact=True)

    def _unshallowed(self, depth: int) -> Question:
        """All commits, after a shallow clone: then it is shallow no longer."""
        version = self._version()

        def ask() -> Any:
            copy = self._new()
            clone = (*version, "clone", "-q", "--bare", f"--depth={depth}", self.repository.url, copy)
            failed = _failure(*clone, cwd=self.folder)
            option = ("--unshallow",) if (copy / "shallow").exists() else ()
            failed = failed or _failure(
                *version, "fetch", "-q", *option, self.repository.url, *REST, cwd=copy
            )
            return failed or (_soundness(copy), (copy / "shallow").exists(), _commits(copy))

        return self._question(
            "unshallow", f"{version[1]}: clone --depth={depth}, fetch --unshallow",
            lambda: (SOUND, False, self.plain.reachable), ask,
        )  # fmt: skip

    def _partial(self, kind: str) -> Question:
        """The objects that git sends for this filter, except trees and blobs of tags: git sends those if it
        has bitmaps."""
        version = self._version()
        named = {
            oid
            for kind in ("tree", "blob")
            for tag in self.plain.refs.values()
            if (oid := self.plain.peeled(tag, kind))
        }

        def clone(url: str) -> Any:
            copy = self._new()
            failed = _failure(
                *version, "clone", "-q", "--bare", f"--filter={kind}", url, copy, cwd=self.folder
            )
            return failed or (_refs(copy), all_objects(copy) - named)

        return self._question(
            "partial",
            f"{version[1]}: clone --filter={kind}",
            lambda: clone(f"file://{self.plain.path}"),
            lambda: clone(self.repository.url),
        )

    def _single_branch(self) -> Question:
        """One branch. Branches with the name of another ref are left out, because git clone takes the other
        ref."""
        names = [
            name.removeprefix("refs/heads/") for name in self.plain.refs if name.startswith("refs/heads/")
        ]
        branches = [
            name for name in names if name not in self.plain.refs and f"refs/{name}" not in self.plain.refs
        ]
        branch = self.random.choice(branches)
        version = self._version()

        def ask() -> Any:
            copy = self._new()
            failed = _failure(
                *version,
                "clone",
                "-q",
                "--bare",
                "--no-tags",
                "--single-branch",
                f"--branch={branch}",
                self.repository.url,
                copy,
                cwd=self.folder,
            )
            return failed or self._needs(copy, tip)

        tip = self.plain.refs[f"refs/heads/{branch}"]
        return self._question("branch", f"{version[1]}: clone --branch={branch}", COMPLETE, ask)

    def _continued(self) -> Question:
        """A fetch into what has a part already."""
        version, oid = self._version(), self.random.choice(self.commits)

        def ask() -> Any:
            copy = self._empty()
            run_git("fetch", "-q", f"file://{self.plain.path}", f"{oid}:refs/heads/part", cwd=copy)
            failed = _failure(
                *version, "fetch", "-q", self.repository.url, "+refs/*:refs/*", "^refs/pull/*", cwd=copy
            )
            refs = _refs(copy)
            if "refs/heads/part" not in self.plain.refs:
                refs.pop("refs/heads/part", None)
            return failed or (_soundness(copy), refs, all_objects(copy))

        return self._question(
            "continued",
            f"{version[1]}: fetch into what has {oid}",
            lambda: (SOUND, self.plain.refs, self.plain.object_ids()),
            ask,
        )

    def _since(self) -> Question:
        moment = min(self.plain.graph.times[self.random.choice(self.commits)], 2**31)
        return self._part("since", f"--shallow-since=@{moment}")

    def _excluded(self) -> Question:
        names = [name for name in self.plain.tips if name.startswith(("refs/tags/", "refs/heads/"))]
        return self._part("exclude", f"--shallow-exclude={self.random.choice(names)}")

    def _part(self, kind: str, option: str) -> Question:
        """A shallow clone that ends by dates or at a ref, then the rest. If dates run backwards, git's own
        walk is wrong."""
        options = (*self._version(), "clone", "-q", "--bare", "--no-single-branch", option)
        return self._bounded(
            kind, options, ("fetch", "-q", "--unshallow"), is_exact=not self.plain.graph.runs_backwards()
        )

    def _bounded(
        self, kind: str, clone: tuple[str, ...], then: tuple[str, ...], *, is_exact: bool
    ) -> Question:
        """A shallow clone, as the same git makes it of the plain repository, and the result of a second
        fetch."""

        def act(url: str) -> Any:
            copy = self._new()
            if _failure(*clone, url, copy, cwd=self.folder):
                return REFUSED
            first = self._state(copy) if is_exact else ()
            if then and (copy / "shallow").exists():
                failed = _failure(*clone[:2], *then, url, *REST, cwd=copy)
                return REFUSED if failed else (first, self._state(copy))
            return first, self._state(copy)

        everything = () if is_exact else ((), (SOUND, self.plain.reachable, set()))
        return Question(
            f"fetch.{kind}", " ".join((*clone, "and", *then)), lambda: act(f"file://{self.plain.path}"),
            lambda: act(self.repository.url), lambda: [REFUSED, everything] if not is_exact else [],
        )  # fmt: skip

    def _state(self, copy: Path) -> Any:
        """Commits that a shallow clone has, and those at which it ends."""
        file = copy / "shallow"
        commits = _commits(copy)
        ends = set(file.read_text().split()) if file.exists() else set()
        return _soundness(copy), commits, ends & commits


def _failure(*arguments: str | Path, cwd: Path) -> str:
    """Return git's error message."""
    code, output = git_of(*arguments, cwd=cwd)
    return "" if code == 0 else f"git ended with {code}: {output.strip()}"


def _soundness(copy: Path) -> str:
    code, output = git_of("fsck", "--full", "--no-dangling", "--no-progress", cwd=copy)
    return SOUND if code == 0 else f"git fsck: {output}"


def _refs(copy: Path) -> dict[str, str]:
    listed = run_git("for-each-ref", "--format=%(objectname) %(refname)", cwd=copy).decode().splitlines()
    refs = {name: oid for oid, name in (line.split(" ", 1) for line in listed)}
    return {name: oid for name, oid in refs.items() if not name.startswith("refs/pull/")}


def _commits(copy: Path, refs: str = "--all") -> frozenset[str]:
    """Commits that the refs lead to, without those of notes."""
    return frozenset(run_git("rev-list", "--exclude=refs/notes/*", refs, cwd=copy).decode().split())
