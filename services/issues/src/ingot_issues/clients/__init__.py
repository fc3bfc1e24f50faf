"""Calls to other services: just the ones needed here."""
