"""Owned by repos: git on behalf of pull requests, which issues asks for."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.repos import Verification

MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]
UpdateStyle = Literal["merge", "rebase"]
MERGE_STYLES: dict[MergeStyle, str] = {
    "merge": "allow_merge_commits",
    "rebase": "allow_rebase",
    "rebase-merge": "allow_rebase_explicit",
    "squash": "allow_squash_merge",
    "fast-forward-only": "allow_fast_forward_only_merge",
}
"""The field of ``Repository`` that allows each style of merging a pull request."""
MOST_HEADS = 100
"""Heads that are compared in one call."""


def proposal_head(topic: str, proposal_id: int) -> str:
    """Stands for a head branch where the commits were pushed to ``refs/for/``; no branch can have such a name."""
    return f"{topic}:{proposal_id}"


def proposal_id(head_branch: str) -> int:
    """The id of the proposal that ``proposal_head`` named; 0 for a branch."""
    _, _, digits = head_branch.rpartition(":") if ":" in head_branch else ("", "", "")
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


class DiffCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines and files a head changes since its merge base."""

    additions: int
    deletions: int
    changed_files: int


class PullHead(msgspec.Struct, frozen=True, kw_only=True):
    """PUT /internal/repositories/{id}/pull-heads/{number}: who gets the commits that are stored under the number of a pull request.

    ``visible``: whoever fetches from the repository. ``hidden``: nobody who fetches; they can be looked at. ``gone``: they
    are stored no more. Until the next call that holds for what is compared, too.
    """

    state: Literal["visible", "hidden", "gone"]


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/compare. Brings the head's commits into the base repository first.

    With ``number`` they are stored there as ``refs/pull/<number>/head`` (see ``PullHead``). 404 when a branch is missing. ``counted_base``
    and ``counted_head`` are merge base and head of ``DiffCounts`` that are known already.
    """

    base_branch: str
    head_repository_id: int
    head_branch: str
    number: int = 0
    counted_base: str = ""
    counted_head: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What merging head into base would mean now. ``commits`` counts what head has and base has not.

    ``counts`` is None where the counts are known already, and where the difference is too large to be counted.
    """

    base_sha: str
    head_sha: str
    merge_base: str
    mergeable: bool
    commits: int
    counts: DiffCounts | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that is to be compared, as in ``Compare``."""

    repository_id: int
    branch: str
    number: int = 0
    counted_base: str = ""
    counted_head: str = ""


class CompareHeads(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/comparisons: ``Compare`` for up to ``MOST_HEADS`` of one base branch at once.

    404 when the base branch is missing.
    """

    base_branch: str
    heads: list[Head]


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """One for each of the heads, in their order; None where the caller sees no such branch."""

    comparisons: list[Comparison | None] = msgspec.field(name="found")


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/merge: bring ``head_sha`` into ``base_branch``, as the calling person.

    With ``?user={id}``: as somebody who is not calling now, who asked for it with a restricted token if
    ``&restricted=true``.

    409 when they conflict, or ``head_sha`` is no longer what ``refs/pull/<number>/head`` says, or the base
    moved meanwhile.

    With ``head_branch`` no comparison is needed before: its commits are brought here first, as ``Compare`` does.
    409 is also the answer when it is no longer at ``head_sha``, and 405 that the two conflict whatever the style. A
    branch that is gone, or that the person may not see, leaves what is kept under the number.
    """

    number: int
    base_branch: str
    head_sha: str
    style: MergeStyle = "merge"
    title: str = ""
    message: str = ""
    head_repository_id: int = 0
    head_branch: str = ""


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """``sha`` is now the tip of the base branch. ``already`` True: head was in base before.

    ``base_sha`` is the tip that the base branch had, ``merge_base`` what it and the head had in common; both are
    empty when an earlier call merged them.
    """

    sha: str
    already: bool = False
    base_sha: str = ""
    merge_base: str = ""


class UpdateBranch(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/update-branch: bring a base branch into the branch ``head_branch``, as the calling person.

    The person needs write access, and the protection of the branch holds. ``title`` is that of the merge commit. 409
    when the two conflict, or the branch is no longer at ``head_sha``.
    """

    head_branch: str
    head_sha: str
    base_repository_id: int
    base_branch: str
    style: UpdateStyle = "merge"
    title: str = ""


class UpdatedBranch(msgspec.Struct, frozen=True, kw_only=True):
    """``sha`` is the tip of the branch now; the former one when it had everything already."""

    sha: str


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote or committed a commit, by its own account. ``login`` is empty when no account has the address."""

    name: str
    email: str
    when: datetime
    login: str = ""


class HistoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a commit changes; a rename is a removal and an addition."""

    filename: str
    status: Literal["added", "removed", "modified"]


class HistoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit changes against its first parent. Lines are not counted in binary files."""

    files: list[HistoryFile]
    additions: int
    deletions: int


class HistoryCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as git has it. What nobody asked for is None; so are ``changes`` that are too many."""

    sha: str
    tree: str
    parents: list[str]
    message: str
    author: Signature
    committer: Signature
    changes: HistoryChanges | None = None
    verification: Verification | None = None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/commits?base=&head=&offset=&limit=: what head has and base has not.

    Newest first; ``total`` counts all. An empty base hides nothing. ``?unattended=true`` as for comparing.
    ``?changes=true``: with what each commit changes. ``?verification=true``: with what is to be said of its signature.
    """

    commits: list[HistoryCommit]
    total: int


class ChangedPath(msgspec.Struct, frozen=True, kw_only=True):
    """``additions`` and ``deletions`` count lines; of binary files none."""

    path: str
    previous: str = ""
    status: Literal["added", "deleted", "modified", "renamed", "copied", "type-changed"]
    additions: int = 0
    deletions: int = 0


class ChangedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/files?base=&head=&offset=&limit=: files that differ, by path.

    ``?skip_to=``: from the file of that path on. ``?whitespace=``: ``ignore-all``, ``ignore-change`` or ``ignore-eol``
    leaves out files in which only white space changed, all of it, its amount, or that at the ends of lines.
    """

    files: list[ChangedPath]
    total: int
