"""Decisions and use cases of labels."""
