"""Hooks that git runs during a push, and the answers to their questions."""
