"""SQL of sources."""
