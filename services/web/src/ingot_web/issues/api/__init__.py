"""Routes of issues."""

from ingot_web.issues.api import choices, comments, conversations, facts, tasks

routes = [*choices.routes, *comments.routes, *conversations.routes, *facts.routes, *tasks.routes]
