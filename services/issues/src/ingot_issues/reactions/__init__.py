"""Reactions to issues and comments."""
