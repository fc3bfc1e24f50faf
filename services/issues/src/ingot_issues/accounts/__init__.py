"""Copies of the accounts of identity."""
