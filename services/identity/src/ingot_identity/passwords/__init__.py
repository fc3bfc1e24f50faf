"""Passwords: hashing, checks, changes, and the limit of failed attempts."""
