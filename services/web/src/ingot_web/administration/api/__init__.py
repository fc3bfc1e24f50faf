"""Routes of the administration of the site."""

from ingot_web.administration.api import accounts, imports, mails, operations, registrations, sources

routes = [
    *accounts.routes,
    *operations.routes,
    *mails.routes,
    *registrations.routes,
    *imports.routes,
    *sources.routes,
]
