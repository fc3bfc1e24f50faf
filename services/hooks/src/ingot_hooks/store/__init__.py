"""SQL of hooks."""
