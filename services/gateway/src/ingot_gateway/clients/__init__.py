"""Requests of the gateway itself to services."""
