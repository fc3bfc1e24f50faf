"""Commits and refs of the API, compared with git."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from .comparisons import Question, Status
from .ingot import Repository
from .plain import EMPTY_TREE, Person, Plain

PAIRS, NAMES, PATHS = 14, 5, 4
"""The number of each that are requested in one history."""
MOST = 50
MISSING = Status(404)


class Reads:
    """The questions about one repository."""

    def __init__(self, plain: Plain, repository: Repository, chance: random.Random) -> None:
        self.plain, self.repository, self.random = plain, repository, chance
        self.commits = [oid for oid in plain.objects.commits if oid in plain.reachable]
        self.graph = plain.graph

    def some(self, of: Sequence[Any], most: int) -> list[Any]:
        return self.random.sample(list(of), min(most, len(of)))

    def names(self) -> list[tuple[str, str]]:
        """Names that the API understands, and the commit of each."""
        names = [
            (name, commit) for name, commit in self.plain.tips.items() if not name.startswith("refs/notes/")
        ]
        short = [
            (ref.removeprefix("refs/heads/").removeprefix("refs/tags/"), commit)
            for ref, commit in names
            if self.is_plain_name(ref)
        ]
        ids = [(oid, oid) for oid in self.some(self.commits, 6)]
        return [*self.some(names, 3), *self.some(short, 4), *ids]

    def is_plain_name(self, ref: str) -> bool:
        """True if the short name means this ref: no branch precedes the tag, and it does not look like a full
        ref."""
        short = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
        if ref.startswith("refs/tags/") and f"refs/heads/{short}" in self.plain.refs:
            return False
        if short.startswith(("refs/", "heads/", "tags/")):
            return False
        is_like_id = len(short) >= 4 and all(letter in "0123456789abcdef" for letter in short)
        return not is_like_id

    def questions(self) -> Iterator[Question]:
        yield from self.lists()
        yield from self.lists_of_paths()
        yield from self.single()
        yield from self.comparisons()

    def lists(self) -> Iterator[Question]:
        """Histories: whole ones, pages, without those of others, of some time, of an author."""
        for name, commit in self.some(self.names(), NAMES):
            yield self._list("commits", self.graph.by_date(commit), sha=name, with_files=True)
        for name, commit in self.some(self.names(), 2):
            whole = self.graph.by_date(commit)
            page, limit = self.random.randint(1, 3), self.random.randint(1, 4)
            part = whole[(page - 1) * limit : page * limit]
            yield self._list("commits.page", part, total=len(whole), sha=name, page=page, limit=limit)
        for hidden, commit in self.pairs(PAIRS):
            rest = self.graph.between(hidden, commit)
            listed = [oid for oid in self.graph.by_date(commit) if oid in rest]
            yield self._list("commits.not", listed, sha=commit, not_=hidden)
        for commit in self.some(self.commits, 2):
            moment = min(self.graph.times[self.random.choice(self.commits)], 250_000_000_000)
            key = self.random.choice(("since", "until"))
            listed = [
                oid
                for oid in self.graph.by_date(commit)
                if (self.graph.times[oid] >= moment if key == "since" else self.graph.times[oid] <= moment)
            ]
            when = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
            yield self._list("commits.time", listed, sha=commit, **{key: when})
        for commit in self.some(self.commits, 2):
            author = self.plain.commit(self.random.choice(self.commits)).author
            word = author.email or author.name
            listed = [oid for oid in self.graph.by_date(commit) if self._is_by(oid, word)]
            yield self._list("commits.author", listed, sha=commit, author=word)

    def _is_by(self, oid: str, word: str) -> bool:
        author = self.plain.commit(oid).author
        return word.strip().lower() in f"{author.name} <{author.email}>".lower()

    def lists_of_paths(self) -> Iterator[Question]:
        """Histories of paths, with and without hidden commits."""
        for commit in self.some(self.commits, 2):
            for path in self.some(self._paths(commit), PATHS):
                listed = self.graph.changing(commit, partial(self.at, path))
                yield self._list("commits.path", listed, sha=commit, path=path, is_missing=not listed)
        for hidden, commit in self.pairs(PAIRS // 2):
            for path in self.some(self._paths(commit), 1):
                marked = self.graph.ancestors(hidden)
                listed = (
                    [] if commit in marked else self.graph.changing(commit, partial(self.at, path), marked)
                )
                yield self._list(
                    "commits.path.not", listed, sha=commit, not_=hidden, path=path, is_missing=not listed,
                    revisions=(commit, f"^{hidden}"),
                )  # fmt: skip

    def at(self, path: str, commit: str) -> tuple[str, str] | None:
        """Mode and id of what is at a path."""
        entry = self.plain.at(commit, path)
        return (entry.mode, entry.oid) if entry else None

    def _paths(self, commit: str) -> list[str]:
        """Paths of the API: it takes slashes and white space off at the ends, and none in the middle."""
        return sorted(path for path in self.plain.files(commit) if path.strip("/") == path)

    def pairs(self, most: int) -> list[tuple[str, str]]:
        """Pairs of different commits; most are of branches."""
        tips = sorted(set(self.plain.tips.values()) & set(self.commits))
        pairs = [(one, other) for one in tips for other in tips if one != other]
        every = [(one, other) for one in self.commits for other in self.commits if one != other]
        return [*self.some(pairs, most // 2), *self.some(every, most - min(most // 2, len(pairs)))]

    def _list(
        self,
        kind: str,
        listed: list[str],
        *,
        total: int | None = None,
        is_missing: bool = False,
        with_files: bool = False,
        revisions: tuple[str, ...] = (),
        **query: str | int,
    ) -> Question:
        """A list of commits: their order, all of each one, and the total in the headers."""
        parameters = {"limit": MOST, "verification": "false"} | query
        if not with_files:
            parameters |= {"stat": "false", "files": "false"}

        def ask() -> Any:
            answer = self.repository.get("commits", **parameters)
            if answer.status_code != 200:
                return Status(answer.status_code)
            commits = [shown_commit(one) for one in answer.json()]
            return commits, int(answer.headers["X-Total-Count"])

        def answer_of(oids: list[str]) -> Any:
            return (
                MISSING
                if is_missing and not oids
                else ([self.commit(oid, with_files) for oid in oids[:MOST]], total or len(oids))
            )

        def others() -> Iterator[Any]:
            for options in ((), ("--topo-order",)) if revisions else ():
                lines = self.plain.git("rev-list", *options, *revisions, "--", f":(literal){query['path']}")
                oids = lines.decode().split()
                yield answer_of(oids) if oids else MISSING

        return Question(kind, f"commits {query}", lambda: answer_of(listed), ask, others)

    def commit(self, oid: str, with_files: bool = True) -> Any:
        """A commit as `shown_commit` gives it."""
        raw = self.plain.commit(oid)
        changes = self.plain.changes(oid) if with_files else None
        return (oid, raw.message, raw.author, raw.committer, list(raw.parents), raw.tree, changes)

    def single(self) -> Iterator[Question]:
        """Single commits, and their changes as texts."""
        for name, commit in self.some(self.names(), NAMES):
            if name.endswith((".diff", ".patch")):
                continue
            yield Question(
                "commit", f"git/commits/{name}",
                partial(self.commit, commit), partial(self._answered_commit, "git", "commits", name),
            )  # fmt: skip
        for name, commit in self.plain.tips.items():
            text, _, form = name.rpartition(".")
            if form in ("diff", "patch") and text not in self.plain.refs:
                yield Question(
                    "commit", f"git/commits/{name}",
                    partial(self.commit, commit), partial(self._answered_commit, "git", "commits", name),
                )  # fmt: skip
        for commit in self.some(self.commits, 3):
            parents = self.graph.parents[commit]
            before = parents[0] if parents else EMPTY_TREE
            yield Question(
                "commit.diff", f"git/commits/{commit}.diff",
                partial(self.diff, before, commit),
                partial(self.repository.bytes, "git", "commits", f"{commit}.diff"),
            )  # fmt: skip
            if len(parents) == 1:
                yield Question(
                    "commit.patch", f"git/commits/{commit}.patch",
                    partial(self.patch, [commit, f"^{before}"]),
                    partial(self.repository.bytes, "git", "commits", f"{commit}.patch"),
                )  # fmt: skip
        for number, text in self.plain.history.notes.items():
            oid = self.plain.objects.commits[number]
            if oid in self.commits:
                yield Question(
                    "note", f"git/notes/{oid}", lambda text=text: text.decode(),
                    lambda oid=oid: value_of(self.repository.json("git", "notes", oid), "message"),
                )  # fmt: skip

    def _answered_commit(self, *path: str) -> Any:
        answer = self.repository.json(*path, verification="false")
        return answer if isinstance(answer, Status) else shown_commit(answer)

    def diff(self, before: str, after: str) -> bytes:
        return self.plain.git("diff", "--binary", "--abbrev=7", "-M", before, after)

    def patch(self, revisions: Sequence[str]) -> bytes | Status:
        """Output of git-format-patch(1) for commits; 422 where it refuses a date."""
        mailbox = self.plain.mailbox(revisions)
        return Status(422) if mailbox is None else mailbox

    def comparisons(self) -> Iterator[Question]:
        """Ask for the commits that a head has and a base lacks."""
        for base, head in self.pairs(PAIRS):
            text = f"compare/{base}...{head}"
            rest = self.graph.between(base, head)
            bases = sorted(self.graph.merge_bases(base, head))
            yield Question(
                "compare", text,
                lambda rest=rest: (len(rest), sorted(rest)), partial(self._answered_compare, base, head),
            )  # fmt: skip
            yield Question(
                "compare.before", text,
                lambda bases=bases: bases[0] if bases else "",
                lambda base=base, head=head: value_of(self._compared(base, head), "before"),
                lambda bases=bases: bases,
            )  # fmt: skip
        for base, head in self.pairs(3):
            bases = sorted(self.graph.merge_bases(base, head))
            yield Question(
                "compare.diff", f"compare/{base}...{head}?output=diff",
                lambda bases=bases, head=head: self.diff(bases[0] if bases else EMPTY_TREE, head),
                partial(self.repository.bytes, "compare", f"{base}...{head}", output="diff"),
                lambda bases=bases, head=head: [self.diff(one, head) for one in bases],
            )  # fmt: skip
            yield Question(
                "compare.direct", f"compare/{base}..{head}?output=diff",
                partial(self.diff, base, head),
                partial(self.repository.bytes, "compare", f"{base}..{head}", output="diff"),
            )  # fmt: skip

    def _compared(self, base: str, head: str) -> Any:
        return self.repository.json(
            "compare", f"{base}...{head}", stat="false", files="false", verification="false"
        )

    def _answered_compare(self, base: str, head: str) -> Any:
        answer = self._compared(base, head)
        if isinstance(answer, Status):
            return answer
        return answer["total_commits"], sorted(commit["sha"] for commit in answer["commits"])


def shown_commit(one: Any) -> Any:
    """Return the fields of a commit in the API, in the order of `Reads.commit`."""
    commit, changes = one["commit"], None
    if one.get("files") is not None:
        files = sorted((file["filename"], file["status"]) for file in one["files"])
        changes = files, one["stats"]["additions"], one["stats"]["deletions"]
    parents = [parent["sha"] for parent in one["parents"]]
    people = [_person(commit[role]) for role in ("author", "committer")]
    return (one["sha"], commit["message"], *people, parents, commit["tree"]["sha"], changes)


def _person(one: Any) -> Person:
    return Person(one["name"], one["email"], int(datetime.fromisoformat(one["date"]).timestamp()))


def value_of(answer: Any, field: str) -> Any:
    return answer if isinstance(answer, Status) else answer[field]
