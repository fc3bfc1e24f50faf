"""Routes of issues."""

from ingot_web.issues.api import bulk_edits, choices, comments, conversations, facts, tasks

routes = [
    *bulk_edits.routes,
    *choices.routes,
    *comments.routes,
    *conversations.routes,
    *facts.routes,
    *tasks.routes,
]
