"""Deletion of accounts. An account is restored if a later event shows that it owns a repository."""
