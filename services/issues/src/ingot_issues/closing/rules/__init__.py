"""Rules and use cases of closing."""
