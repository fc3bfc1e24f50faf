"""Random histories whose commits have any dates, and the ancestors of each commit, computed in Python."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pygit2
from pygit2.enums import FileMode

_DATES: dict[str, Callable[[random.Random, int], int]] = {
    "skewed": lambda rng, _number: rng.randint(1, 60),
    "equal": lambda _rng, _number: 1_000,
    "few": lambda rng, _number: rng.choice([10, 20, 30]),
    "in order": lambda _rng, number: 1_000 + number,
    "parts backwards": lambda _rng, number: 2_000 - number if number // 7 % 2 else 1 + number,
}


@dataclass
class Graph:
    """Commits, each after its parents. Sets of commits are integers with one bit for each commit."""

    ids: list[str] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)
    dates: list[int] = field(default_factory=list)
    histories: list[int] = field(default_factory=list)
    """Of each commit the commit itself and its ancestors."""

    def add(self, repo: pygit2.Repository, parents: Sequence[int], date: int, tree: pygit2.Oid) -> None:
        """Write a commit whose parents are these commits of the graph."""
        who = pygit2.Signature("A", "a@example.org", date)
        message = f"{len(self.ids)}\n"
        oid = repo.create_commit(None, who, who, message, tree, [self.ids[one] for one in parents])
        history = 1 << len(self.ids)
        for one in parents:
            history |= self.histories[one]
        self.ids.append(str(oid))
        self.parents.append(list(parents))
        self.dates.append(date)
        self.histories.append(history)

    def commits(self, history: int) -> set[str]:
        """Return the ids of a set of commits."""
        return {oid for number, oid in enumerate(self.ids) if history >> number & 1}

    def union(self, tips: Sequence[int]) -> int:
        """Return the set of commits in the histories of all tips."""
        history = 0
        for tip in tips:
            history |= self.histories[tip]
        return history


def written_graph(
    repo: pygit2.Repository,
    parents: Sequence[Sequence[int]],
    dates: Sequence[int],
    *,
    with_files: bool = False,
) -> Graph:
    """Write a graph of these parents and dates. ``with_files`` gives each commit a file of its own."""
    graph, builder = Graph(), repo.TreeBuilder()
    for own, date in zip(parents, dates, strict=True):
        if with_files:
            builder.insert("number", repo.create_blob(b"%d\n" % len(graph.ids)), FileMode.BLOB)
        graph.add(repo, own, date, builder.write())
    return graph


def random_graph(repo: pygit2.Repository, rng: random.Random) -> Graph:
    """Write a graph of 3 to 70 commits with several roots and merges. Its dates follow one of five rules."""
    size = rng.choice([rng.randint(3, 26), rng.randint(20, 70)])
    straight = rng.choice([0, 0, 16])
    date_of = _DATES[rng.choice(list(_DATES))]
    parents: list[list[int]] = []
    for number in range(size):
        count = rng.choice([1, 1, 1, 1, 2, 2, 3] + [1] * straight)
        reach = rng.choice([1, 2, 5, 70] + [1] * straight)
        if number == 0 or rng.random() < 0.04:
            count = 0
        own = sorted({rng.randint(max(0, number - reach), number - 1) for _ in range(count)})
        rng.shuffle(own)
        parents.append(own)
    # The message of a commit is its number in the graph. So graphs that begin equally share these commits.
    return written_graph(repo, parents, [date_of(rng, number) for number in range(size)])
