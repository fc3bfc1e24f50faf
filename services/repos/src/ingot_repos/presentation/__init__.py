"""Conversion of repositories and accounts for responses and events."""
