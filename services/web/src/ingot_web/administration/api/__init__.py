"""Routes."""

from ingot_web.administration.api import accounts, mails, operations, registrations, sources

routes = [*accounts.routes, *operations.routes, *mails.routes, *registrations.routes, *sources.routes]
