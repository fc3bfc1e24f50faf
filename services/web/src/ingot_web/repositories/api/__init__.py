"""Routes of repositories."""

from ingot_web.repositories.api import creation, imports

routes = [*creation.routes, *imports.routes]
