"""Routes of access."""
