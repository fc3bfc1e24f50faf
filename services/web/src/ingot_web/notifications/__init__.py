"""Notifications of the caller."""
