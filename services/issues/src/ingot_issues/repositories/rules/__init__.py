"""Rules and use cases of repositories."""
