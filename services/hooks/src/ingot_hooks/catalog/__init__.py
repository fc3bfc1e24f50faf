"""Hooks as rows, the right to use them, and the objects that every request needs."""
