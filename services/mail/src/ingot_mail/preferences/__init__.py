"""Preferences of people for notifications."""
