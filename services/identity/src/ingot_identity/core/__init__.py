"""Rules and decisions: use cases that take a transaction, and plain functions. ``access`` decides who may do what."""
