"""Texts of other forges."""
