"""Decisions and use cases of catalog."""
