"""Deliveries: queued, sent, retried, and their history."""
