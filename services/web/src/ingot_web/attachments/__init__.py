"""Files attached to issues and comments, and links to them in texts."""
