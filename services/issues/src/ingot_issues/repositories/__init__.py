"""Copies of the repositories of repos, and their counters."""
