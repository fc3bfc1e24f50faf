"""Search for issues across repositories."""
