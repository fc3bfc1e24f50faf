"""Doors of git: HTTP and SSH, pushes and fetches, and rights while they run."""
