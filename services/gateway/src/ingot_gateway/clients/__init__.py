"""Clients for the gateway's own calls to services."""
