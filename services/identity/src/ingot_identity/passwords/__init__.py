"""Passwords: hashing, checking, changing, and the throttle of wrong ones."""
