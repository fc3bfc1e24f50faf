"""Hooks as rows, the right to use them, and the parts that every request needs."""
