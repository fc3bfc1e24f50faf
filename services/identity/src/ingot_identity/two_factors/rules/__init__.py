"""Decisions and use cases of second factors."""
