"""Types of fields that several requests share."""

from typing import Annotated

import msgspec

Text50 = Annotated[str, msgspec.Meta(max_length=50)]
Text100 = Annotated[str, msgspec.Meta(max_length=100)]
