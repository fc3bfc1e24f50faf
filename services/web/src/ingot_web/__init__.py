"""The HTML pages of Ingot. Their content comes from other services, with the caller's access."""
