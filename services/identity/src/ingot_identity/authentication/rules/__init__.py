"""Rules and use cases of authentication."""
