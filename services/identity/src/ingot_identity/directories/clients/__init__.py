"""Requests to directories."""
