"""Routes of times."""
