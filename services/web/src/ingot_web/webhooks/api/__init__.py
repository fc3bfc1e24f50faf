"""Routes of webhooks, by kind of owner."""

from ingot_web.webhooks.api import owners, repositories

routes = [*owners.routes, *repositories.routes]
