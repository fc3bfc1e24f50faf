"""Quotes of comments, for replies."""

LONGEST = 5_000
"""Characters of a text that are quoted."""


def quote_of(text: str) -> str:
    """Return a text as a quote in Markdown, with an empty line for the reply."""
    lines = text[:LONGEST].strip().splitlines()
    return "".join(f"> {line}".rstrip() + "\n" for line in lines) + "\n" if lines else ""
