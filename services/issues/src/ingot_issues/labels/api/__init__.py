"""Routes of labels."""
