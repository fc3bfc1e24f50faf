"""Calls to identity, repos and issues."""
