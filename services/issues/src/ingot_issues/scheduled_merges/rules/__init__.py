"""Rules and use cases of scheduled merges."""
