"""Rules and use cases of keys."""
