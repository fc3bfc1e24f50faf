"""Signed addresses for replies by mail."""
