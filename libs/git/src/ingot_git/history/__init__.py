"""Reads of objects: commits, trees, files, walks and comparisons."""
