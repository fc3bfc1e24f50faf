"""Rules and use cases of labels."""
