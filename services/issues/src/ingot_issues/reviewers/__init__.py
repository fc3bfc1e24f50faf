"""Requested reviewers: people and teams."""
