"""The HTML pages of Ingot. Their content comes from other services, with the access of the caller."""
