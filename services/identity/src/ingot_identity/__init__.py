"""Identity: users, organizations, teams, keys and tokens.

It identifies callers; repos decides on access to repositories.
"""
