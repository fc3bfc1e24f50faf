"""Files that are shown as pictures, by their names."""

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Suffixes of names, in lower case."""
