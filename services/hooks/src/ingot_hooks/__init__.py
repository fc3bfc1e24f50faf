"""Webhooks of Ingot: subscriptions to events, payloads for endpoints, and the history of deliveries."""
