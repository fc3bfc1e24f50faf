"""Types of fields that several requests have, with their limits."""

from typing import Annotated

import msgspec

from ingot_contracts.limits import NAME_CHARACTERS, Name

MOST_ITEMS = 1_000
"""Items of a list in a request, repeated items included."""

Head = Annotated[str, msgspec.Meta(max_length=2 * NAME_CHARACTERS + 1)]
"""A branch, or an owner, a colon and a branch."""
Labels = Annotated[list[int | Name], msgspec.Meta(max_length=MOST_ITEMS)]
"""Ids and names."""
Logins = Annotated[list[Name], msgspec.Meta(max_length=MOST_ITEMS)]
Projects = Annotated[list[int], msgspec.Meta(max_length=MOST_ITEMS)]
"""Ids."""
