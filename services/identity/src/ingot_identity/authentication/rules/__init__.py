"""Decisions and use cases of authentication."""
