"""People and organizations: their pages, the lists of all of them, search, following."""
