"""Routes of repository settings."""

from ingot_web.repository_settings.api import general, mirrors, protections, teams, transfer

routes = [*general.routes, *teams.routes, *mirrors.routes, *transfer.routes, *protections.routes]
