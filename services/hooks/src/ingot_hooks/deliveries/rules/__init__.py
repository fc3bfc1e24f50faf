"""Decisions and use cases of deliveries."""
