"""Rules and use cases of directories."""
