"""The type of a body in a request."""

from typing import Annotated

import msgspec

from ingot_issues.markdown.rules.rendering import LARGEST

Markdown = Annotated[str, msgspec.Meta(max_length=LARGEST)]
"""A body. Its limit is lower than the one of ``Body``, since bodies are parsed."""
