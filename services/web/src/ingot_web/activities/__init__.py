"""Activities in the words of pages and feeds, and heatmaps."""
