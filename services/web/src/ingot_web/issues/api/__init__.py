"""Routes."""

from ingot_web.issues.api import comments, conversations, facts, tasks

routes = [*comments.routes, *conversations.routes, *facts.routes, *tasks.routes]
