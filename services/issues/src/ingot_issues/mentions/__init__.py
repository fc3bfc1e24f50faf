"""Mentions of people in texts."""
