"""Repositories: creation, settings, lists, search, topics, templates, transfers and deletion."""
