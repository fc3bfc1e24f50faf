"""Rules and use cases of times."""
