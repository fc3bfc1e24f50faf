"""Labels of repositories and organizations."""
