"""Hooks that git runs during a push, and the questions that they ask."""
