"""Decisions and use cases of accounts."""
