"""Webhooks of Ingot: hooks of events, payloads for their endpoints, and the history of deliveries."""
