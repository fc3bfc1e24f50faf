"""Routes of notifications."""
