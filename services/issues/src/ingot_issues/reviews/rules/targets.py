"""The rule for stale reviews."""

from ingot_issues.records.rules.targets import ReviewTarget, present_target
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.reviews.store import DecisionRow, ReviewRow


def is_stale(review: ReviewRow | DecisionRow, pull: AnyPull) -> bool:
    """Return whether a merge now would have other changes, or another base branch, than the review."""
    return ReviewTarget(review.commit_sha, review.base_branch, review.merge_base) != present_target(pull)
