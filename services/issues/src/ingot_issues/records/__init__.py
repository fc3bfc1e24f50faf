"""Rows of issues, pull requests and timelines, which all other subjects read and write."""
