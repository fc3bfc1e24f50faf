"""Subscriptions to issues, and the notifications of each person."""
