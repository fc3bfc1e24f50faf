"""Rules and use cases of merges."""
