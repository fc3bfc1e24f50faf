"""Rules and use cases of pulls."""
