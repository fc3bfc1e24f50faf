"""Decisions and use cases of pulls."""
