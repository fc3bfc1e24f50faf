"""Rules and use cases of passwords."""
