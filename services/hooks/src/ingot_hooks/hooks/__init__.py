"""Hooks: their routes, and the events that reach them."""
