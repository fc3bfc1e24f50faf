"""Followers of accounts."""
