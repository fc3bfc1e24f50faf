"""Replies by mail: parsing them, and passing them to issues as comments."""
