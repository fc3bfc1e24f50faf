"""The copy of repositories that repos announces: owners, names, and access."""
