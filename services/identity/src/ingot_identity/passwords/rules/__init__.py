"""Decisions and use cases of passwords."""
