"""Comparisons of branches and commits. issues requests them."""

from typing import Literal

import msgspec

MOST_HEADS = 100
"""Heads per comparison request."""


def proposal_head(topic: str, proposal_id: int) -> str:
    """Return a name for the head of commits that were pushed to ``refs/for/``.

    No branch can have such a name.
    """
    return f"{topic}:{proposal_id}"


def proposal_id(head_branch: str) -> int:
    """Return the proposal id in a name that ``proposal_head`` returned; 0 for a branch."""
    _, _, digits = head_branch.rpartition(":") if ":" in head_branch else ("", "", "")
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


class DiffCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Lines and files that a head changes since its merge base."""

    additions: int
    deletions: int
    changed_files: int


class PullHead(msgspec.Struct, frozen=True, kw_only=True):
    """PUT /internal/repositories/{id}/pull-heads/{number}: set who can fetch the commits of a pull request.

    ``visible``: every reader of the repository can fetch the commits. ``hidden``: they can be viewed, but not
    fetched. ``gone``: they are deleted. Later comparisons keep the state until the next call.
    """

    state: Literal["visible", "hidden", "gone"]


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/compare: compare two branches.

    The head's commits are copied into the base repository first. ``number`` stores them as
    ``refs/pull/<number>/head`` (see ``PullHead``). 404 if a branch is missing. ``counted_base`` and
    ``counted_head`` are merge base and head of the ``DiffCounts`` that the caller already has.
    """

    base_branch: str
    head_repository_id: int
    head_branch: str
    number: int = 0
    counted_base: str = ""
    counted_head: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a trial merge of head into base. ``commits`` counts commits of head that base lacks.

    ``counts`` is None if the caller already has them, or if the diff is too large to be counted.
    """

    base_sha: str
    head_sha: str
    merge_base: str
    mergeable: bool
    commits: int
    counts: DiffCounts | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A head branch to compare, as in ``Compare``."""

    repository_id: int
    branch: str
    number: int = 0
    counted_base: str = ""
    counted_head: str = ""


class CompareHeads(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/comparisons: ``Compare`` for several heads of one base branch.

    At most ``MOST_HEADS`` heads. 404 when the base branch is missing.
    """

    base_branch: str
    heads: list[Head]


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison per head, in the order of the request.

    A comparison is None if the branch is missing or unreadable, or if its fork is damaged.
    """

    comparisons: list[Comparison | None] = msgspec.field(name="found")


class ChangedPath(msgspec.Struct, frozen=True, kw_only=True):
    """A changed path. ``additions`` and ``deletions`` count lines; 0 for binary files."""

    path: str
    previous: str = ""
    status: Literal["added", "deleted", "modified", "renamed", "copied", "type-changed"]
    additions: int = 0
    deletions: int = 0


class ChangedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/files?base=&head=&offset=&limit=: files that differ, by path.

    ``?skip_to=`` starts at the file of that path. ``?whitespace=`` excludes files that differ only in white
    space: ``ignore-all``, ``ignore-change`` (its amount) or ``ignore-eol`` (at the ends of lines).
    """

    files: list[ChangedPath]
    total: int
