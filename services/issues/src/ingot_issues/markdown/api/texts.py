"""The type of a body in a request."""

from typing import Annotated

import msgspec

from ingot_issues.markdown.rules.rendering import LARGEST

Markdown = Annotated[str, msgspec.Meta(max_length=LARGEST)]
"""A markdown text. Its limit is lower than that of ``Body``, because it is parsed."""
