"""Commits in one history that are not in another, and membership of commits, for any dates.

A walk that hides a history (`walker.hide` of libgit2, `git rev-list <tip> ^<hidden>`) ends when the remaining
commits look old. If dates run backwards, the walk hides too few commits, even if it also hides the merge
bases. It never hides too many. `merge_base`, and `git rev-list --topo-order` with a commit-graph, are correct
for all dates (ADR 31). So:

1. A commit that a walk hides is hidden.
2. A listed commit that reaches a merge base is not hidden: otherwise it would be a better merge base.
3. For other commits, take the merge base of one of them and repeat. After some merge bases, ask git. It uses
   the generation numbers of the commit-graph. Without a commit-graph it lists the whole hidden history.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pygit2
from pygit2.enums import SortMode

from ingot_git.history.commits import find_commit
from ingot_git.process.command import MIB, GitArgs, clean_environment, git_async, run_git
from ingot_git.storage.commit_graphs import has_commit_graph
from ingot_git.storage.scratch import ScratchRepository

Order = Literal["default", "date", "topological"]
"""The order of git-log(1): without an option, with ``--date-order``, with ``--topo-order``."""
_SORTED: dict[Order, SortMode] = {
    "default": SortMode.NONE,
    "date": SortMode.TOPOLOGICAL | SortMode.TIME,
    "topological": SortMode.TOPOLOGICAL,
}
_OPTIONS: dict[Order, tuple[str, ...]] = {
    "default": (),
    "date": ("--date-order",),
    "topological": ("--topo-order",),
}
MOST_WALKED = 500
"""Maximum number of commits listed in process, at about 10 us each. git lists more."""
MOST_LISTED = 200_000
"""Maximum number of commits in one walk with parents, at about 500 bytes each."""
MOST_HIDDEN = 100
"""Maximum number of tips hidden in process. The cost is quadratic; git handles more tips."""
_MOST_BASES = 8
_SECONDS = 30.0
_MOST_BYTES = 256 * MIB


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """The first commits (full ids) of a part of a history, and its total number of commits."""

    first: list[str]
    total: int


def merge_base(repo: pygit2.Repository, one: str, other: str) -> str | None:
    """Return the best common ancestor of two commits (full ids), or None.

    Raises ObjectNotFound if one of the ids is not a commit of this repository.
    """
    ancestor = repo.merge_base(find_commit(repo, one).id, find_commit(repo, other).id)
    return None if ancestor is None else str(ancestor)


def contains(repo: pygit2.Repository, history: str, commit: str) -> bool:
    """True if ``history`` is ``commit``, or has it in its history (full ids)."""
    return history == commit or repo.descendant_of(history, commit)


def any_contains(
    repo: pygit2.Repository, tips: Iterable[str], commit: str, *, most_hidden: int = MOST_HIDDEN
) -> bool:
    """True if a commit is one of the tips or in the history of a tip (full ids).

    Blocks; runs git for more than ``most_hidden`` tips. Raises GitFailed, GitTimedOut.
    """
    hidden = list(dict.fromkeys(tips))
    if not hidden:
        return False
    if len(hidden) > most_hidden:
        return _is_hidden_by_git(repo, commit, hidden)
    oid = pygit2.Oid(hex=commit)
    walker = repo.walk(oid)
    for tip in hidden:
        walker.hide(tip)
    return next(walker, None) is None or _best_ancestor(repo, oid, hidden) == oid


def only_in(
    repo: pygit2.Repository,
    tip: str,
    hidden: Collection[str],
    *,
    order: Order = "default",
    most: int | None = None,
    most_walked: int = MOST_WALKED,
) -> list[str]:
    """Return full ids of the commits in the history of ``tip`` but in no history of ``hidden``.

    With ``most`` return only the first commits in this order. Blocks; runs git for more than ``most_walked``
    commits.

    Raises:
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitFailed, GitTimedOut, OutputTooLarge: git could not list the commits.
    """
    for oid in (tip, *hidden):
        find_commit(repo, oid)
    if tip in hidden:
        return []
    if hidden:
        listed = _proven(repo, tip, list(hidden), order, most_walked)
        return (_listed_by_git(repo, tip, hidden, order) if listed is None else listed)[:most]
    bound = most_walked if most is None else min(most, most_walked)
    near = [
        str(commit.id) for _, commit in zip(range(bound + 1), repo.walk(tip, _SORTED[order]), strict=False)
    ]
    if len(near) <= bound or bound == most:
        return near[:most]
    limit = () if most is None else (f"--max-count={most}",)
    return _rev_list(repo, (*_OPTIONS[order], *limit), [tip])


def length_of(repo: pygit2.Repository, tip: str) -> int:
    """Return the number of commits in a history. Raises the errors of `only_in`."""
    walker = repo.walk(find_commit(repo, tip).id)
    near = sum(1 for _ in zip(range(MOST_WALKED + 1), walker, strict=False))
    return near if near <= MOST_WALKED else int(_rev_list(repo, ("--count",), [tip])[0])


def parts_only_in(
    repo: pygit2.Repository, tips: Collection[str], hidden: Collection[str], *, most: int
) -> dict[str, HistoryPart]:
    """Return the commits of `only_in` for many tips, with one walk of git.

    Each part has the first ``most`` commits of a tip, and the number of all. Children come before parents.
    Commits after the first `MOST_LISTED` are not counted. Raises the errors of `only_in`.
    """
    for oid in (*tips, *hidden):
        find_commit(repo, oid)
    options = ("--topo-order", "--parents", f"--max-count={MOST_LISTED}")
    all_hidden = _hidden_without_graph(repo, hidden)
    lines = (line.split() for line in _rev_list(repo, options, [*tips, *_hiding(hidden)]))
    parents = {oid: own for oid, *own in lines if oid not in all_hidden}
    walk = _Parts(parents)
    return {tip: HistoryPart(walk.first(tip, most), walk.length(tip)) for tip in tips}


class _Parts:
    """The commits of one walk, and the part of each commit's history that is inside the walk.

    ``parents`` has the parents of each commit, with children before parents. It may contain ids outside of
    the walk.
    """

    def __init__(self, parents: dict[str, list[str]]) -> None:
        self._ids = list(parents)
        numbers = {oid: number for number, oid in enumerate(self._ids)}
        self._numbers = numbers
        self._parents = [[numbers[one] for one in own if one in numbers] for own in parents.values()]
        self._lengths: dict[int, int] = {}
        self._steps = MOST_LISTED * 10

    def first(self, tip: str, most: int) -> list[str]:
        order = [self._numbers[tip]] if tip in self._numbers else []
        reached, listed = set(order), list[str]()
        while order and len(listed) < most:
            number = heapq.heappop(order)
            listed.append(self._ids[number])
            for parent in self._parents[number]:
                if parent not in reached:
                    reached.add(parent)
                    heapq.heappush(order, parent)
        return listed

    def length(self, tip: str) -> int:
        """Return the number of commits in the history of ``tip``; a lower bound after very many steps."""
        if tip not in self._numbers:
            return 0
        line = [self._numbers[tip]]
        while line[-1] not in self._lengths and len(self._parents[line[-1]]) == 1:
            line.append(self._parents[line[-1]][0])
        end = line.pop()
        if end not in self._lengths:
            self._lengths[end] = self._count(end)
        for distance, number in enumerate(reversed(line), start=1):
            self._lengths[number] = self._lengths[end] + distance
        return self._lengths[line[0] if line else end]

    def _count(self, start: int) -> int:
        reached, pending = {start}, [start]
        while pending and self._steps > 0:
            self._steps -= 1
            following = [one for one in self._parents[pending.pop()] if one not in reached]
            reached.update(following)
            pending += following
        return len(reached)


async def outside(
    path: Path,
    commits: Collection[str],
    tips: Sequence[str],
    *,
    max_memory: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> set[str]:
    """Return the commits (full ids) that no history of the tips contains.

    Raises the errors of `git_async`.
    """

    async def listed(options: tuple[str, ...], revisions: Iterable[str]) -> set[str]:
        output = await git_async(
            GitArgs("rev-list", (*options, "--stdin")),
            git_dir=path,
            stdin=_lines(revisions),
            max_output=_MOST_BYTES,
            max_memory=max_memory,
            environment=environment,
        )
        return set(output.decode().split())

    unhidden = await listed(("--topo-order",), [*commits, *_hiding(tips)])
    left = unhidden.intersection(commits)
    if not left or not tips or has_commit_graph(path):
        return left
    return left - await listed((), tips)


def _proven(
    repo: pygit2.Repository, tip: str, hidden: list[str], order: Order, most_walked: int
) -> list[str] | None:
    """Return the commits of `only_in`; None if they are too many, or not all are proven not hidden."""
    start = pygit2.Oid(hex=tip)
    bases: list[pygit2.Oid] = []
    proven: set[pygit2.Oid] = set()
    while True:
        base = _best_ancestor(repo, start, hidden)
        if base is not None:
            bases.append(base)
        walker = repo.walk(tip, _SORTED[order])
        for one in hidden:
            walker.hide(one)
        for oid in bases:
            walker.hide(oid)
        listed = [commit for _, commit in zip(range(most_walked + 1), walker, strict=False)]
        if len(listed) > most_walked:
            return None
        parents = {commit.id: commit.parent_ids for commit in listed}
        proven |= _ancestors(start, parents) if base is None else _descendants(base, parents)
        unproven = next((oid for oid in parents if oid not in proven), None)
        if unproven is None:
            return [str(oid) for oid in parents]
        if len(bases) >= _MOST_BASES:
            return None
        start = unproven


def _best_ancestor(repo: pygit2.Repository, commit: pygit2.Oid, hidden: Sequence[str]) -> pygit2.Oid | None:
    """Return the best common ancestor of a commit and any of the ``hidden`` commits, or None."""
    return repo.merge_base_many([commit, *hidden]) if len(hidden) > 1 else repo.merge_base(commit, hidden[0])


def _descendants(base: pygit2.Oid, parents: dict[pygit2.Oid, list[pygit2.Oid]]) -> set[pygit2.Oid]:
    children: dict[pygit2.Oid, list[pygit2.Oid]] = defaultdict(list)
    for oid, own in parents.items():
        for parent in own:
            children[parent].append(oid)
    return _closure(base, children)


def _ancestors(start: pygit2.Oid, parents: dict[pygit2.Oid, list[pygit2.Oid]]) -> set[pygit2.Oid]:
    return _closure(start, parents) | {start}


def _closure(start: pygit2.Oid, edges: dict[pygit2.Oid, list[pygit2.Oid]]) -> set[pygit2.Oid]:
    closure: set[pygit2.Oid] = set()
    pending = [start]
    while pending:
        following = [oid for oid in edges.get(pending.pop(), ()) if oid not in closure]
        closure.update(following)
        pending += following
    return closure


def _listed_by_git(repo: pygit2.Repository, tip: str, hidden: Collection[str], order: Order) -> list[str]:
    revisions = [tip, *_hiding(hidden)]
    listed = _rev_list(repo, _OPTIONS[order], revisions)
    all_hidden = _hidden_without_graph(repo, hidden)
    if all_hidden or _OPTIONS[order]:
        return [oid for oid in listed if oid not in all_hidden]
    unhidden = set(_rev_list(repo, ("--topo-order",), revisions))
    return [oid for oid in listed if oid in unhidden]


def _is_hidden_by_git(repo: pygit2.Repository, commit: str, hidden: Collection[str]) -> bool:
    if not _rev_list(repo, ("--topo-order", "--max-count=1"), [commit, *_hiding(hidden)]):
        return True
    return commit in _hidden_without_graph(repo, hidden)


def _hidden_without_graph(repo: pygit2.Repository, hidden: Collection[str]) -> set[str]:
    """Return all hidden commits if git has no generation numbers, because a walk may list some of them.

    Otherwise return an empty set.
    """
    if not hidden or has_commit_graph(Path(repo.path)):
        return set()
    return set(_rev_list(repo, (), hidden))


def _rev_list(repo: pygit2.Repository, options: tuple[str, ...], revisions: Iterable[str]) -> list[str]:
    output = run_git(
        GitArgs("rev-list", (*options, "--stdin")),
        git_dir=Path(repo.path),
        stdin=_lines(revisions),
        environment=repo.environment() if isinstance(repo, ScratchRepository) else clean_environment(),
        time_limit=_SECONDS,
        max_output=_MOST_BYTES,
    )
    return output.decode().splitlines()


def _hiding(oids: Iterable[str]) -> Iterator[str]:
    return (f"^{oid}" for oid in oids)


def _lines(revisions: Iterable[str]) -> bytes:
    return "".join(f"{revision}\n" for revision in revisions).encode()
