"""Labels and milestones in the form of the API."""

from datetime import datetime
from typing import Annotated

import msgspec

from ingot_contracts.issues.states import State
from ingot_contracts.limits import EVENT_URL_BYTES, EventShortText, EventText, most_bytes


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A label. ``color`` has six hexadecimal digits.

    ``exclusive``: an issue has at most one such label with the same name up to the last slash.
    """

    id: int
    name: str
    color: Annotated[str, most_bytes(50)]
    url: Annotated[str, most_bytes(EVENT_URL_BYTES)] = ""
    description: EventShortText = ""
    exclusive: bool = False
    is_archived: bool = False


class Milestone(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    title: str
    description: EventText = ""
    state: State = "open"
    open_issues: int = 0
    closed_issues: int = 0
    closed_at: datetime | None = None
    due_on: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
