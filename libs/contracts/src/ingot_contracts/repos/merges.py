"""Merges and updates of branches. issues requests them."""

from typing import Literal

import msgspec

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


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/merge: merge ``head_sha`` into ``base_branch``, as the caller.

    ``?user={id}`` merges as that user, for a scheduled merge. ``&restricted=true``: the merge was scheduled
    with a restricted token.

    409 if head and base conflict, if ``refs/pull/<number>/head`` is no longer ``head_sha``, or if the base
    has moved. A request with ``head_branch`` needs no comparison first: the commits are copied here, like in
    ``Compare``. Then 409 also if the branch is no longer at ``head_sha``. 405 if head and base conflict in
    any style. If the branch is deleted or hidden from the user, the commits stored under the number are
    merged.

    413 if git exceeds the CPU time of a request or, with ``user``, of a job.

    ``merge_base`` is the merge base of the reviewed changes, empty if there was none. 409 if it differs now.
    None accepts any merge base.
    """

    number: int
    base_branch: str
    head_sha: str
    style: MergeStyle = "merge"
    title: str = ""
    message: str = ""
    head_repository_id: int = 0
    head_branch: str = ""
    merge_base: str | None = None


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a merge. ``sha`` is the base branch's new tip. ``already``: base already contained head.

    ``base_sha`` is the former tip of the base branch, ``merge_base`` its merge base with the head. Both are
    empty if an earlier call merged them.
    """

    sha: str
    already: bool = False
    base_sha: str = ""
    merge_base: str = ""


class OfficialReviewers(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/official-reviewers: filter reviewers by the rule of ``branch``.

    It is both request and response, with at most ``MOST_IDS`` accounts and ``MOST_IDS`` teams. The response
    has the official approvers: reviewers whom the current rule and their current access allow. Without a
    rule, or without its list of approvers, all writers count.
    """

    branch: str = ""
    ids: list[int] = []
    team_ids: list[int] = []


class UpdateBranch(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/update-branch: merge a base branch into ``head_branch``.

    The caller makes the merge and needs write access. The protection of the branch applies. ``title`` is the
    title of the merge commit. 409 if the branches conflict, or if the head is no longer at ``head_sha``.
    """

    head_branch: str
    head_sha: str
    base_repository_id: int
    base_branch: str
    style: UpdateStyle = "merge"
    title: str = ""


class UpdatedBranch(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an update. ``sha`` is the tip of the branch now.

    It is the former tip if the branch already had all commits.
    """

    sha: str
