"""Decisions and use cases of payloads."""
