"""Clients of identity, repos and issues."""
