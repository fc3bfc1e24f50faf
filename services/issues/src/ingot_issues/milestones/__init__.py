"""Milestones of repositories."""
