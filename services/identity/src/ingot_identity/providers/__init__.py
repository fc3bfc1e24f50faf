"""Providers of OpenID Connect, of which this server is a client."""
