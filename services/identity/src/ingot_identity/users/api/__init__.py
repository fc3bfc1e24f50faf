"""Routes of users."""
