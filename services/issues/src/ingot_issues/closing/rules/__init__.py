"""Decisions and use cases of closing."""
