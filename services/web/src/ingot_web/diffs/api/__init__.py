"""Routes."""

from ingot_web.diffs.api import excerpts

routes = [*excerpts.routes]
