"""Ids of resources, which are texts of digits."""

from ingot_chassis.http.policy import MAX_ID


def id_of(text: object) -> int:
    """Return the id in a text; 0, which no resource has, for any other text."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < len(str(MAX_ID)):
        return int(text)
    return 0
