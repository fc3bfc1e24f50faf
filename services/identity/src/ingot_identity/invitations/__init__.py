"""Invitations to teams and repositories: links for addresses, with or without an account."""
