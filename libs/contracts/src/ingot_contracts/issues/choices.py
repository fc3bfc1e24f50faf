"""Choices for issues, as pages offer them."""

import msgspec

from ingot_contracts.issues.labels import Label, Milestone

CHOICES = 200
"""The most of each list, except closed milestones."""
CLOSED = 50
"""Of closed milestones."""


class IssueChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Labels and milestones of a repository: GET /internal/repos/{owner}/{repo}/issue-choices.

    ``labels``: those of the repository by name, then those of its organization. ``milestones`` are open, the
    oldest first; closed ones the newest first. The totals count all of them.
    """

    labels: list[Label] = []
    milestones: list[Milestone] = []
    closed_milestones: list[Milestone] = []
    milestone_total: int = 0
    closed_total: int = 0
