"""Replies by mail: reading them, and passing them to issues as comments."""
