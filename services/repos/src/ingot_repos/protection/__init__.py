"""Protected branches and tags."""
