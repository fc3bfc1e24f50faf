"""Labels of a repository."""
