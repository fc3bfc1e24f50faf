"""Webhooks of Ingot: which hooks an event is for, what is sent to their endpoints, and the history of deliveries."""
