"""Background jobs of notifications."""
