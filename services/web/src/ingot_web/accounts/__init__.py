"""Users and organizations: their pages, lists, search, and following."""
