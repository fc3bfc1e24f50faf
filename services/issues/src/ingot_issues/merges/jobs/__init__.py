"""Background jobs of merges."""
