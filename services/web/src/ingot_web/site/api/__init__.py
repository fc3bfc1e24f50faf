"""Routes of the site."""

from ingot_web.site.api import assets, other_names

routes = [*assets.routes, *other_names.routes]
