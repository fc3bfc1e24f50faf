"""The public entry of Ingot: it authenticates each request, limits it and forwards it to the service of its path."""
