"""Decisions and use cases of markdown."""
