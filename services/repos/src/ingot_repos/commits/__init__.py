"""Commits: lists, comparisons, blame, signatures, statuses, and git objects."""
