"""Clients of the servers from which repositories are imported."""
