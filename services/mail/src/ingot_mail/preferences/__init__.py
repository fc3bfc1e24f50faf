"""Preferences of users for notifications by mail."""
