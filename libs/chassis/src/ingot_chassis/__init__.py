"""Code that all Ingot services share: settings, app, database, events, jobs, principal, peers, telemetry.

This package knows nothing about git forges. Code moves here when a second service needs it, not earlier.
"""
