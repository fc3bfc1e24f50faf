"""Releases of a repository."""
