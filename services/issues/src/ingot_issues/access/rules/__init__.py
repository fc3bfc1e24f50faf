"""Decisions and use cases of access."""
