"""The HTML pages of Ingot. Their content comes from the other services, as the caller may see it."""
