"""Routes."""

from ingot_web.administration.api import accounts, mails, operations, sources

routes = [*accounts.routes, *operations.routes, *mails.routes, *sources.routes]
