"""Rules and use cases of reviews."""
