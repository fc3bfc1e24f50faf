"""Changes of many issues at once: the request of web, and the outcomes that issues reports."""

from typing import Annotated, Literal

import msgspec

from ingot_contracts.limits import ASSIGNEES, Name

MOST_EDITED = 50
"""Maximum number of issues in one request."""
MOST_LABELS = 100
"""Maximum number of labels in one request."""
Id = Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
How = Literal["add", "remove", "set"]
"""The use of a list: add its values to those of an issue, remove them, or replace those of the issue."""


class LabelsChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of labels, by id."""

    how: How
    ids: Annotated[list[Id], msgspec.Meta(max_length=MOST_LABELS)] = []


class AssigneesChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of assignees, by login."""

    how: How
    logins: Annotated[list[Name], msgspec.Meta(max_length=ASSIGNEES)] = []


class EditIssues(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of these issues or, with ``is_pull``, pull requests. Absent fields keep their values.

    ``milestone`` 0 removes the milestone. POST /internal/repos/{owner}/{repo}/issues/edits.
    """

    numbers: Annotated[list[Id], msgspec.Meta(min_length=1, max_length=MOST_EDITED)]
    is_pull: bool = False
    state: Literal["open", "closed"] | None = None
    milestone: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    labels: LabelsChange | None = None
    assignees: AssigneesChange | None = None

    @property
    def needs_write_access(self) -> bool:
        """True if the request changes more than the state, which authors may change without write access."""
        return not (self.milestone is None and self.labels is None and self.assignees is None)


class EditOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one issue. ``refusal`` is the reason why the issue was not changed, or empty.

    Without a refusal, ``changed`` is False for an issue that had these values already.
    """

    number: int
    changed: bool = False
    refusal: str = ""


class EditOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome for each issue, in the order of the request."""

    outcomes: list[EditOutcome] = []
