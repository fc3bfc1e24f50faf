"""Routes of pulls."""
