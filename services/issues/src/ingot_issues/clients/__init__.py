"""Clients of the services that several subjects call."""
