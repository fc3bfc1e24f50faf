"""Commits, branches, tags and comparisons of a repository."""
