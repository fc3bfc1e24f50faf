"""SQL of providers."""
