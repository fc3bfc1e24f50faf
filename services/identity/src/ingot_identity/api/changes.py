"""Bodies of PATCH: what is absent stays as it is."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET

Text50 = Annotated[str, msgspec.Meta(max_length=50)]
Text100 = Annotated[str, msgspec.Meta(max_length=100)]
Text255 = Annotated[str, msgspec.Meta(max_length=255)]


def given(body: msgspec.Struct) -> dict[str, Any]:
    """The fields that the body has, by name."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
