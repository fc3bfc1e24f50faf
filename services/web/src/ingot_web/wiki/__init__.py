"""Pages of wikis."""
