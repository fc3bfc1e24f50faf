"""Decisions and use cases of merges."""
