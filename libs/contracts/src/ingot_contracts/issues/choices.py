"""Choices for the fields of an issue, for pages."""

import msgspec

from ingot_contracts.issues.labels import Label, Milestone

CHOICES = 200
"""Maximum number of items in each list, except closed milestones."""
CLOSED = 50
"""Maximum number of closed milestones."""


class IssueChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Labels and milestones of a repository: GET /internal/repos/{owner}/{repo}/issue-choices.

    ``labels`` are the labels of the repository by name, then the labels of its organization. ``milestones``
    are open, the oldest first. Closed milestones are listed latest first. The totals count all of them.
    """

    labels: list[Label] = []
    milestones: list[Milestone] = []
    closed_milestones: list[Milestone] = []
    milestone_total: int = 0
    closed_total: int = 0
