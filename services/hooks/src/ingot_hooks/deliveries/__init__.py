"""Deliveries: queued, sent, tried again, and their history."""
