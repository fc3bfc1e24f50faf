"""Files that are shown as pictures."""

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""How their names end, in lower case."""
