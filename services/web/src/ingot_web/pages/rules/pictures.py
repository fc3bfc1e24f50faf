"""Extensions of files that are shown as pictures."""

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Suffixes of names, in lower case."""
