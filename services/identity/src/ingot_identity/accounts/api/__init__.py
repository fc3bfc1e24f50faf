"""Routes of accounts."""
