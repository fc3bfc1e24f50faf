"""Pages where people create their own accounts."""
