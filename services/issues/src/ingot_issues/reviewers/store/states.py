"""States of reviews."""

from enum import StrEnum


class ReviewState(StrEnum):
    """The state of a review in the API. ``REQUEST_REVIEW`` is a request for a review."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    COMMENT = "COMMENT"
    REQUEST_CHANGES = "REQUEST_CHANGES"
    REQUEST_REVIEW = "REQUEST_REVIEW"
