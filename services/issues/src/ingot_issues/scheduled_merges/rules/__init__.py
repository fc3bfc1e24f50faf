"""Decisions and use cases of scheduled merges."""
