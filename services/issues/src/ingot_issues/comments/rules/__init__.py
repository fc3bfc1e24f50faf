"""Rules and use cases of comments."""
