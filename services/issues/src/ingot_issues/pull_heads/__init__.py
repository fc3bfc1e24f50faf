"""Visibility of pull request heads in repos."""
