"""Decisions and use cases of SCIM."""
