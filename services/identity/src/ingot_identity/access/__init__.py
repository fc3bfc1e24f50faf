"""Memberships and teams as access is decided by them, and the decisions."""
