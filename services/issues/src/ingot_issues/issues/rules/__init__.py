"""Rules and use cases of issues."""
