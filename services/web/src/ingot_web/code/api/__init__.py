"""Routes of files."""

from ingot_web.code.api import blame, code_search, editing, files, search

routes = [*blame.routes, *code_search.routes, *editing.routes, *files.routes, *search.routes]
