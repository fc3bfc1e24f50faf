"""Mechanics every Ingot service stands on: settings, app, database, outbox, bus, jobs, principal, peers, telemetry.

Nothing here knows what a forge is. A thing enters when a second service needs it, never earlier.
"""

from ingot_chassis import structlog_without_rich  # noqa: F401 - before any module imports structlog
