"""Requests, and errors as pages."""
