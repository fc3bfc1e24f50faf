"""Routes of history."""

from ingot_web.history.api import branches, commits, comparisons

routes = [*branches.routes, *commits.routes, *comparisons.routes]
