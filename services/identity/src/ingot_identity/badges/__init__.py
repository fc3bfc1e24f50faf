"""Badges that administrators give to users."""
