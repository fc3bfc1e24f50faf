"""Merges of pull requests."""
