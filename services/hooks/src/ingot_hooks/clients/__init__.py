"""Clients of identity and repos."""
