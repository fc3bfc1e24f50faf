"""Decisions and use cases of comments."""
