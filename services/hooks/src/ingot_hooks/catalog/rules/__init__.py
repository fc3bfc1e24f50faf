"""Rules and use cases of catalog."""
