"""Decisions and use cases of OAuth2."""
