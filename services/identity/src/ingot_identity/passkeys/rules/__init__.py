"""Decisions and use cases of passkeys."""
