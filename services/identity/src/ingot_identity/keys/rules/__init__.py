"""Decisions and use cases of keys."""
