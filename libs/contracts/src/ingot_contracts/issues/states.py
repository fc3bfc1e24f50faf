"""States of issues, pull requests and milestones."""

from typing import Literal

State = Literal["open", "closed"]
