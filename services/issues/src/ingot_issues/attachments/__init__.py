"""Files of issues and comments."""
