"""Decisions and use cases of times."""
