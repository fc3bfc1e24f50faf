"""Rules and use cases of markdown."""
