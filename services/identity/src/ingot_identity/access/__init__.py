"""Memberships and teams that decide on access, and the rules of access."""
