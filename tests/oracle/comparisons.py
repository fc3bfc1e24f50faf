"""Questions that git and Ingot both answer, and the counts of what was compared."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from .differences import DIFFERENCES

SHOWN = 1500
"""Characters of an answer."""
MOST_FAILURES = 300
"""After so many differences a run ends."""
MOST_OF_A_KIND = 3
"""Differences that a report shows."""


@dataclass(frozen=True)
class Status:
    """A refusal by its status."""

    code: int


@dataclass(frozen=True)
class Question:
    """``expect`` asks git, ``ask`` Ingot; ``others`` are answers of git that are right in another way."""

    kind: str
    text: str
    expect: Callable[[], Any]
    ask: Callable[[], Any]
    others: Callable[[], Iterable[Any]] = tuple


@dataclass(frozen=True)
class Comparison:
    """The two answers to a question."""

    kind: str
    text: str
    expected: Any
    answer: Any
    others: tuple[Any, ...]

    def __str__(self) -> str:
        expected, answer = _shown(self.expected, self.answer)
        return f"{self.kind}: {self.text}\n  git:   {expected}\n  Ingot: {answer}"


def _shown(expected: Any, answer: Any) -> tuple[str, str]:
    """Two answers; of sets what only one has, and of long ones what differs, and a bit before."""
    texts = tuple(map(repr, _unshared(expected, answer)))
    same = next((at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0)
    start = max(0, same - SHOWN // 3) if max(map(len, texts)) > SHOWN else 0
    one, other = (("…" if start else "") + text[start : start + SHOWN] for text in texts)
    return one, other


def _unshared(expected: Any, answer: Any) -> tuple[Any, Any]:
    """Two answers without what their sets share."""
    match expected, answer:
        case (set() | frozenset(), set() | frozenset()):
            return (len(expected), sorted(expected - answer)), (len(answer), sorted(answer - expected))
        case (tuple(), tuple()) if len(expected) == len(answer):
            pairs = [_unshared(one, other) for one, other in zip(expected, answer, strict=True)]
            return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)
        case _:
            return expected, answer


@dataclass
class Verdicts:
    """Counts comparisons and failures by kind, and needed entries of the table by name. Threads share it."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    @property
    def total(self) -> int:
        return self.counts.total()

    def judge(self, questions: Iterable[Question]) -> Iterator[Comparison]:
        """Compare, and yield what differs and is in no entry of the table."""
        for question in questions:
            expected, answer = question.expect(), question.ask()
            self._count(self.counts, question.kind)
            if answer == expected:
                continue
            comparison = Comparison(question.kind, question.text, expected, answer, tuple(question.others()))
            entry = next((one for one in DIFFERENCES if one.explains(comparison)), None)
            if entry is not None:
                self._count(self.differences, entry.name)
                continue
            self._count(self.failures, comparison.kind)
            yield comparison

    def _count(self, counter: Counter[str], key: str) -> None:
        with self._lock:
            counter[key] += 1
