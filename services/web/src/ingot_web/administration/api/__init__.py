"""Routes."""

from ingot_web.administration.api import accounts, operations, sources

routes = [*accounts.routes, *operations.routes, *sources.routes]
