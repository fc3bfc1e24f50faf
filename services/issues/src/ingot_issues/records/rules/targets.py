"""The target of a review: a commit, its base branch, and their merge base."""

from typing import NamedTuple

from ingot_issues.records.store.issues import AnyPull


class ReviewTarget(NamedTuple):
    """The changes from ``merge_base`` to ``commit_sha``, for ``base_branch``."""

    commit_sha: str
    base_branch: str
    merge_base: str


def present_target(pull: AnyPull) -> ReviewTarget:
    """Return the changes that a merge would make now."""
    return ReviewTarget(pull.head_sha, pull.base_branch, pull.merge_base)
