"""Routes of sources."""
