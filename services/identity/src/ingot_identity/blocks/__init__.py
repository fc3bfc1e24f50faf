"""Blocked users."""
