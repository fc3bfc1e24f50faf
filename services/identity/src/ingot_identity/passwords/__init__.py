"""Passwords: hashing, checks, changes, and the limit of wrong ones."""
