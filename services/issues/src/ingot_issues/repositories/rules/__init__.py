"""Decisions and use cases of repositories."""
