"""Ids of resources: texts of digits."""

from ingot_chassis.http.policy import MAX_ID


def id_of(text: object) -> int:
    """The id that the text is, or 0, which no resource has."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < len(str(MAX_ID)):
        return int(text)
    return 0
