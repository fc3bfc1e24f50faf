"""Rules and use cases of sources."""
