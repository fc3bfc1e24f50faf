"""Files attached to issues and comments, and the links to them in their texts."""
