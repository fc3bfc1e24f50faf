"""Mirrors and push mirrors."""
