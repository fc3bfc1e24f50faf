"""Clients of the services that provide the content of pages."""
