"""Receiving of replies."""
