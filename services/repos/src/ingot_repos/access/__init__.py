"""Access to repositories: policies of routes, levels, collaborators, teams, deploy keys and blocks."""
