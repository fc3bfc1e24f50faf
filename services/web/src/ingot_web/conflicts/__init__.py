"""Conflicts of a pull request, resolved on a page."""
