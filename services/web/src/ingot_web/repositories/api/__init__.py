"""Routes of repositories."""

from ingot_web.repositories.api import creation, imports, new_imports

routes = [*creation.routes, *new_imports.routes, *imports.routes]
