"""Background jobs of deliveries."""
