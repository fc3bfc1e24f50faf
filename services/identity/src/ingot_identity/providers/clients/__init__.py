"""Requests to providers."""
