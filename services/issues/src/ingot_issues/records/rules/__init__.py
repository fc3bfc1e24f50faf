"""Rules and use cases of records."""
