"""Rules and use cases: what may be done to a repository, what changes, what is announced."""
