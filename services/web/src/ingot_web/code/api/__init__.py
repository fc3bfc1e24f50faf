"""Routes."""

from ingot_web.code.api import blame, editing, files, search

routes = [*blame.routes, *editing.routes, *files.routes, *search.routes]
