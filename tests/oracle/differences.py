"""Deliberate differences between Ingot and git, and questions without a single answer in git.

A long run reports entries that explain nothing, so they can be removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparisons import Comparison


@dataclass(frozen=True)
class Difference:
    """``kinds`` are those of questions; ``applies`` narrows them down."""

    name: str
    kinds: tuple[str, ...]
    reason: str
    applies: Callable[[Comparison], bool] = lambda _: True

    def explains(self, comparison: Comparison) -> bool:
        return comparison.kind in self.kinds and self.applies(comparison)


def _is_another_answer(comparison: Comparison) -> bool:
    return comparison.answer in comparison.others


def _is_quoted(comparison: Comparison) -> bool:
    name = comparison.text.partition("--shallow-exclude=")[2].partition(" and ")[0]
    is_special = any(letter in '"\\' or not " " < letter <= "~" for letter in name)
    return comparison.answer == "refused" and "protocol.version=2" not in comparison.text and is_special


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "simplification behind hidden commits",
        ("commits.path.not",),
        "With `^hidden` git simplifies by what it has marked as hidden when it comes to a merge, which "
        "depends on dates and on the commit-graph: git-rev-list(1) answers differently with --topo-order. "
        "Any of its answers is right.",
        _is_another_answer,
    ),
    Difference(
        "a part of a history whose dates run backwards",
        ("fetch.since", "fetch.exclude"),
        (
            "git decides by dates where such a clone ends, and may refuse to make it or to complete it. All "
            "commits are in it in the end."
        ),
        _is_another_answer,
    ),
    Difference(
        "a special name in a shallow clone",
        ("fetch.exclude",),
        "Over HTTP with protocol 0 or 1 git's client sends such a name in quotes (git-remote-curl), and no "
        "server has a ref of that name. The plain repository is cloned from its folder.",
        _is_quoted,
    ),
    Difference(
        "files of a tag of a tree",
        ("raw of a tag of a tree", "contents of a tag of a tree"),
        (
            "These routes show files of commits, with the commit that changed them last, and such a tag has "
            "none."
        ),
        _is_another_answer,
    ),
    Difference(
        "one of several merge bases",
        ("compare.before", "compare.diff", "pull.files", "pull.diff"),
        (
            "Where histories cross there are several best common ancestors; git-merge-base(1) lists one "
            "without saying which."
        ),
        _is_another_answer,
    ),
)
