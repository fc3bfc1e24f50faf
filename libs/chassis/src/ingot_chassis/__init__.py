"""Mechanics every Ingot service stands on: settings, app, database, outbox, bus, jobs, principal, peers, telemetry.

Nothing here knows what a forge is. A thing enters when a second service needs it, never earlier.
"""
