"""Routes of account settings."""

from ingot_web.account_settings.api import (
    appearance,
    applications,
    external_accounts,
    keys,
    mail,
    profile,
    security,
)

routes = [
    *profile.routes,
    *appearance.routes,
    *keys.routes,
    *applications.routes,
    *external_accounts.routes,
    *security.routes,
    *mail.routes,
]
