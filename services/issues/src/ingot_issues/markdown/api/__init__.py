"""Routes of markdown."""
