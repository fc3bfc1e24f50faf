"""Decisions and use cases of records."""
