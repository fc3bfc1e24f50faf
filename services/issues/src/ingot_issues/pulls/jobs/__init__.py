"""Background jobs of pulls."""
