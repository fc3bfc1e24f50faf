"""Exports: the pages of a repository that repos writes into an archive."""
