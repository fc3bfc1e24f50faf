"""Deletion of accounts, and restoration of an account that owns a repository after all."""
