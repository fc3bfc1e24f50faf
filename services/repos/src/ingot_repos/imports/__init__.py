"""Imports of repositories from other servers."""
