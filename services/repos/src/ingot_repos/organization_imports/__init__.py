"""Imports of whole organizations: a list of repositories, each with an import of its own."""
