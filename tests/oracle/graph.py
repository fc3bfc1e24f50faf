"""Reachability in a history by brute force, independent of the dates of commits.

Without a commit-graph, git stops its own walks early, by dates. If dates run backwards, `git rev-list X ^Y`
lists too much.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Graph:
    """Parents and times by full id."""

    parents: Mapping[str, Sequence[str]]
    times: Mapping[str, int]

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        return {}

    def ancestors(self, oid: str) -> frozenset[str]:
        """The commit and all that it follows."""
        if oid not in self._ancestors:
            reached, waiting = {oid}, [oid]
            while waiting:
                for parent in self.parents[waiting.pop()]:
                    if parent not in reached:
                        reached.add(parent)
                        waiting.append(parent)
            self._ancestors[oid] = frozenset(reached)
        return self._ancestors[oid]

    def between(self, hidden: str, oid: str) -> frozenset[str]:
        """Return the commits that ``oid`` has and ``hidden`` lacks."""
        return self.ancestors(oid) - self.ancestors(hidden)

    def merge_bases(self, one: str, other: str) -> frozenset[str]:
        """All best common ancestors."""
        both = self.ancestors(one) & self.ancestors(other)
        return frozenset(oid for oid in both if not any(oid in self.ancestors(more) for more in both - {oid}))

    def runs_backwards(self) -> bool:
        """True if a commit is older than one that it follows."""
        return any(
            self.times[oid] < self.times[parent] for oid, all_ in self.parents.items() for parent in all_
        )

    def by_date(self, oid: str, hidden: frozenset[str] = frozenset()) -> list[str]:
        """The order of git-rev-list(1): of the commits whose children were listed, the newest first."""
        return self._walk(oid, lambda commit: [one for one in self.parents[commit] if one not in hidden])

    def changing(
        self, oid: str, content: Callable[[str], object], hidden: frozenset[str] = frozenset()
    ) -> list[str]:
        """Return the commits that change the result of ``content``, as git-log(1), "History Simplification",
        by default.

        If parents have the same result, only the first is followed. A hidden parent explains a change, and
        ends nothing.
        """
        listed = set()

        def followed(commit: str) -> list[str]:
            parents = [one for one in self.parents[commit] if one not in hidden]
            own = content(commit)
            same = [one for one in parents if content(one) == own]
            if same:
                return same[:1]
            hidden_same = not parents and any(content(one) == own for one in self.parents[commit])
            if not hidden_same and (self.parents[commit] or own is not None):
                listed.add(commit)
            return parents

        return [commit for commit in self._walk(oid, followed) if commit in listed]

    def near(self, tips: Sequence[str], depth: int) -> frozenset[str]:
        """Commits of a shallow clone."""
        reached, edge = set(tips), set(tips)
        for _ in range(depth - 1):
            edge = {parent for oid in edge for parent in self.parents[oid]} - reached
            reached |= edge
        return frozenset(reached)

    def _walk(self, oid: str, followed: Callable[[str], Sequence[str]]) -> list[str]:
        waiting, visited, listed = [(-self.times[oid], 0, oid)], {oid}, []
        while waiting:
            commit = heapq.heappop(waiting)[2]
            listed.append(commit)
            for parent in followed(commit):
                if parent not in visited:
                    visited.add(parent)
                    heapq.heappush(waiting, (-self.times[parent], len(visited), parent))
        return listed
