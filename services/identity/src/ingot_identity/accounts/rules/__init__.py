"""Rules and use cases of accounts."""
