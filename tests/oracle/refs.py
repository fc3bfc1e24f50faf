"""Refs, tags and short ids of the API, compared with git."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .comparisons import Question, Status
from .ingot import Repository
from .plain import Plain
from .reads import MISSING, MOST, Reads, value_of

FORKS = 0.2
"""Of histories, and those with tags of blobs."""


class Refs:
    """The questions about one repository."""

    def __init__(self, plain: Plain, repository: Repository, reads: Reads) -> None:
        self.plain, self.repository, self.reads = plain, repository, reads

    def questions(self) -> Iterator[Question]:
        yield from self.of_refs()
        yield from self.of_short_ids()
        yield from self.of_other_objects()

    def of_refs(self) -> Iterator[Question]:
        """Refs, branches and tags."""
        refs = self.plain.refs
        yield Question("refs", "git ls-remote", lambda: refs, self.repository.refs)
        for prefix in ("", "heads", "tags", "notes", "heads/a"):
            names = [name for name in sorted(refs, key=str.encode) if name.startswith(f"refs/{prefix}")]
            yield Question(
                "git.refs", f"git/refs/{prefix}",
                lambda names=names: [(name, refs[name],
                                      self.plain.read(refs[name])[0]) for name in names] or MISSING,
                partial(self._answered_refs, prefix),
            )  # fmt: skip
        branches = sorted(
            (name.removeprefix("refs/heads/") for name in refs if name.startswith("refs/heads/")),
            key=str.encode,
        )
        tips = [(name, refs[f"refs/heads/{name}"]) for name in branches]
        yield Question("branches", "branches", lambda: tips, self._answered_branches)
        if self.reads.random.random() < FORKS or any(tag.kind == "blob" for tag in self.plain.history.tags):
            yield Question("fork", "forks", lambda: refs_without_notes(refs), self.repository.refs_of_fork)
        for name, oid in tips:
            yield Question(
                "branch", f"branches/{name}", partial(self._branch, oid), partial(self._answered_branch, name)
            )
        tags = {name: oid for name, oid in refs.items() if name.startswith("refs/tags/")}
        of_commits = {
            name.removeprefix("refs/tags/"): oid for name, oid in tags.items() if self.plain.peeled(oid)
        }
        yield Question(
            "tags",
            "tags",
            lambda: sorted((name, oid, self.plain.peeled(oid)) for name, oid in of_commits.items()),
            self._answered_tags,
        )
        for name, oid in of_commits.items():
            yield Question(
                "tag",
                f"tags/{name}",
                lambda oid=oid: (oid, self.plain.peeled(oid)),
                partial(self._answered_tag, name),
            )
        for oid in dict.fromkeys(tags.values()):
            if self.plain.read(oid)[0] == "tag":
                yield Question(
                    "git.tag",
                    f"git/tags/{oid}",
                    partial(self._tag_object, oid),
                    partial(self._answered_object, oid),
                )

    def _answered_refs(self, prefix: str) -> Any:
        answer = (
            self.repository.json("git", "refs", prefix) if prefix else self.repository.json("git", "refs")
        )
        if isinstance(answer, Status):
            return answer
        return [(one["ref"], one["object"]["sha"], one["object"]["type"]) for one in answer]

    def _answered_branches(self) -> Any:
        answer = self.repository.json("branches", limit=MOST)
        if isinstance(answer, Status):
            return answer
        return [(one["name"], one["commit"]["id"]) for one in answer]

    def _branch(self, oid: str) -> Any:
        raw = self.plain.commit(oid)
        return oid, raw.message, raw.author[:2], raw.committer[:2]

    def _answered_branch(self, name: str) -> Any:
        answer = self.repository.json("branches", name)
        if isinstance(answer, Status):
            return answer
        commit = answer["commit"]
        people = [(commit[role]["name"], commit[role]["email"]) for role in ("author", "committer")]
        return commit["id"], commit["message"], *people

    def _answered_tags(self) -> Any:
        answer = self.repository.json("tags", limit=MOST)
        if isinstance(answer, Status):
            return answer
        return sorted((one["name"], one["id"], one["commit"]["sha"]) for one in answer)

    def _answered_tag(self, name: str) -> Any:
        answer = self.repository.json("tags", name)
        return answer if isinstance(answer, Status) else (answer["id"], answer["commit"]["sha"])

    def _tag_object(self, oid: str) -> Any:
        head, _, message = self.plain.read(oid)[1].decode("utf-8", "replace").partition("\n\n")
        fields = dict(line.split(" ", 1) for line in head.split("\n"))
        return fields["tag"], fields["object"], fields["type"], message

    def _answered_object(self, oid: str) -> Any:
        answer = self.repository.json("git", "tags", oid)
        if isinstance(answer, Status):
            return answer
        return answer["tag"], answer["object"]["sha"], answer["object"]["type"], answer["message"]

    def of_short_ids(self) -> Iterator[Question]:
        """Short ids mean commits: that of another object that begins so is none."""
        lookalikes = [tag.number for tag in self.plain.history.tags if tag.kind == "lookalike"]
        ids = [self.plain.objects.commits[number] for number in lookalikes]
        for oid in [one for one in ids if one in self.reads.commits] + self.reads.some(self.reads.commits, 2):
            short = oid[: 4 if oid in ids else 7]
            if f"refs/heads/{short}" not in self.plain.refs and f"refs/tags/{short}" not in self.plain.refs:
                yield Question(
                    "short id", f"git/commits/{short}", partial(self._shortened, short),
                    lambda short=short: value_of(self.repository.json("git", "commits", short), "sha"),
                )  # fmt: skip

    def _shortened(self, short: str) -> Any:
        """Return the only reachable commit with this prefix of its id. For Ingot, unreachable commits do not
        exist."""
        fitting = [oid for oid in self.plain.objects.commits if oid.startswith(short)]
        return fitting[0] if len(fitting) == 1 else MISSING

    def of_other_objects(self) -> Iterator[Question]:
        """Ask routes that need a commit for a tag of another object."""
        for name, oid in self.plain.refs.items():
            if not name.startswith("refs/tags/") or self.plain.peeled(oid):
                continue
            short = name.removeprefix("refs/tags/")
            if f"refs/heads/{short}" in self.plain.refs or short.startswith(("refs/", "tags/", "heads/")):
                continue
            for path, query in (
                (("commits",), {"sha": short}),
                (("git", "commits", short), {}),
                (("compare", f"{short}...main"), {}),
                (("commits", short, "status"), {}),
                (("archive", f"{short}.tar.gz"), {}),
            ):
                yield Question(
                    "tag of no commit", f"{'/'.join(path)} {query or ''}", lambda: MISSING,
                    partial(self._status, *path, **query),
                )  # fmt: skip

    def _status(self, *path: str, **query: str) -> Status:
        return Status(self.repository.get(*path, **query).status_code)


def refs_without_notes(refs: dict[str, str]) -> dict[str, str]:
    """Return the refs that a fork gets."""
    return {name: oid for name, oid in refs.items() if not name.startswith("refs/notes/")}
