"""Calls to other services: one Protocol per peer, and how it is kept over the wire."""
