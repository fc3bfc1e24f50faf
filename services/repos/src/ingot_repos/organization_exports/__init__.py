"""Exports of organizations: one archive with the archive of each repository, teams and labels."""
