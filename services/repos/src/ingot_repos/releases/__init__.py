"""Releases and their files."""
