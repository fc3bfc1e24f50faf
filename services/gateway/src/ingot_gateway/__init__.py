"""Public entry of Ingot: authenticates and limits each request, and forwards it to a service."""
