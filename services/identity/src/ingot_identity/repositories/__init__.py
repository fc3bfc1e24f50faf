"""The local copy of repositories from events of repos: owners, names, and access."""
