"""Routes."""

from ingot_web.account_settings.api import applications, keys, profile, security

routes = [*profile.routes, *keys.routes, *applications.routes, *security.routes]
