"""Activities: what people did in repositories, as feeds and heatmaps."""
