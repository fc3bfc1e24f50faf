"""Types of values in the answers of all sources."""

from typing import Annotated

import msgspec

Id = Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)]
"""The ghost of Gitea has the id -1."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Sha = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")]
Number = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
