"""Types of request fields that several requests use, with their limits."""

from typing import Annotated

import msgspec

from ingot_contracts.limits import NAME_CHARACTERS, Name

MOST_ITEMS = 1_000
"""Maximum number of items of a list in a request, repeated items included."""

Head = Annotated[str, msgspec.Meta(max_length=2 * NAME_CHARACTERS + 1)]
"""A head: a branch, or `owner:branch`."""
Labels = Annotated[list[int | Name], msgspec.Meta(max_length=MOST_ITEMS)]
"""Labels by id or name."""
Logins = Annotated[list[Name], msgspec.Meta(max_length=MOST_ITEMS)]
Projects = Annotated[list[int], msgspec.Meta(max_length=MOST_ITEMS)]
"""Projects by id."""
