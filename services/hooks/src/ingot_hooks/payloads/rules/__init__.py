"""Rules and use cases of payloads."""
