"""Principals of credentials, for the gateway and other services."""
