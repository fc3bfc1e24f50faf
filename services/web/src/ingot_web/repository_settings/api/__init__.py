"""Routes of repository settings."""

from ingot_web.repository_settings.api import exports, general, mirrors, protections, teams, transfer

routes = [
    *general.routes,
    *teams.routes,
    *mirrors.routes,
    *exports.routes,
    *transfer.routes,
    *protections.routes,
]
