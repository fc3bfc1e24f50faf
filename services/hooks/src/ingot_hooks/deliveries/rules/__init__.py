"""Rules and use cases of deliveries."""
