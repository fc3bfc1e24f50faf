"""Shared mechanics of all Ingot services: settings, app, database, events, jobs, principal, peers, telemetry.

This package knows nothing about git forges. Code moves here when a second service needs it, not earlier.
"""
