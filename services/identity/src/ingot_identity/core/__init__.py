"""Rules and decisions: plain functions, and use cases that take a transaction."""
