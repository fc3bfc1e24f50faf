"""Webhooks of Ingot: who is told, what is sent, and what became of it."""
