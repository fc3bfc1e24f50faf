"""Routes of addresses."""
