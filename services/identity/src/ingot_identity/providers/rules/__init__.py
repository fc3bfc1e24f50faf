"""Decisions about what providers say of a person."""
