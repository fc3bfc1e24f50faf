"""Routes of webhooks, by owner."""

from ingot_web.webhooks.api import owners, repositories

routes = [*owners.routes, *repositories.routes]
