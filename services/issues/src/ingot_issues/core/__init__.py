"""Rules and use cases: what is allowed, what changes, what is announced."""
