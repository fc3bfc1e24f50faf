"""Forks, and updates from their parents."""
