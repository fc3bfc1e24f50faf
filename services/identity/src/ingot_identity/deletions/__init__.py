"""Deletion of accounts, and restoring one that turns out to own a repository."""
