"""Families of forges: one module for each API."""
