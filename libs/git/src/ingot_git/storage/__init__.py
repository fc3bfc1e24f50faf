"""Folders of repositories: creation, packs, copies, forks, backups."""
