"""Patches of asyncssh (ADR 14)."""
