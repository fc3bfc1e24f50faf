"""Providers of OpenID Connect. This server is their client."""
