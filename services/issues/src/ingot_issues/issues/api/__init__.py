"""Routes of issues."""
