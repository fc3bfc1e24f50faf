"""Routes of keys."""
