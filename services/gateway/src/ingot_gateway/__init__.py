"""Public entry of Ingot: authenticates each request, applies rate limits and forwards it to a service."""
