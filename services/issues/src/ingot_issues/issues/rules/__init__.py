"""Decisions and use cases of issues."""
