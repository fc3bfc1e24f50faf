"""Rules and use cases of access."""
