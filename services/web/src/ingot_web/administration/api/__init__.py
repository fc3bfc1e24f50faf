"""Routes."""

from ingot_web.administration.api import accounts, operations

routes = [*accounts.routes, *operations.routes]
