"""Rendering of markdown."""
