"""Connections to addresses that egress allows."""
