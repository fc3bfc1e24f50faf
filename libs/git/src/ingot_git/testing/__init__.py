"""Builders for tests of git: commits in bare repositories and random histories."""
