"""Activities: actions of users in repositories, as feeds and heatmaps."""
