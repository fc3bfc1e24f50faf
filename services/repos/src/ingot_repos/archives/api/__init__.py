"""Routes of archives."""
