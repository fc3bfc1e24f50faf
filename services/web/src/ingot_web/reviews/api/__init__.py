"""Routes of reviews."""

from ingot_web.reviews.api import comments, file_views, files, links, range_diffs, suggestions

routes = [
    *comments.routes,
    *file_views.routes,
    *files.routes,
    *links.routes,
    *range_diffs.routes,
    *suggestions.routes,
]
