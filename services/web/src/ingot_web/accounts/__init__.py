"""Users and organizations: their pages, lists of all of them, search, following."""
