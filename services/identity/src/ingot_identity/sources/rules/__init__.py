"""Decisions and use cases of sources."""
