"""Decisions and use cases of reviews."""
