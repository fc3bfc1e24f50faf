"""Routes of diffs."""

from ingot_web.diffs.api import excerpts

routes = [*excerpts.routes]
