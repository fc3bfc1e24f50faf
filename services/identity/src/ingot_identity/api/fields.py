"""Types of fields that several requests share."""

from typing import Annotated

import msgspec

from ingot_chassis.http.policy import MAX_ID

Text50 = Annotated[str, msgspec.Meta(max_length=50)]
Text100 = Annotated[str, msgspec.Meta(max_length=100)]
Ids = list[Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]]
"""No larger ones than a database has."""
