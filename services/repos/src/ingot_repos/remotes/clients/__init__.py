"""Clients for remote servers."""
