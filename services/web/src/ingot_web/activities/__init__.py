"""Activities as sentences for pages and feeds, and heatmaps."""
