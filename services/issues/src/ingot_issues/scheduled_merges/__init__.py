"""Merges that wait for reviews and checks."""
