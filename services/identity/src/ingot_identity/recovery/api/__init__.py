"""Pages of recovery."""
