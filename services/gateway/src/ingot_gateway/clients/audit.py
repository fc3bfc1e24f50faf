"""Client for the audit logs of the services."""

import asyncio
from collections.abc import Mapping
from urllib.parse import urlencode

from ingot_chassis.operations import AuditEntry
from ingot_chassis.peers.peers import Peers

SERVICES = ("hooks", "identity", "mail", "repos")
"""Services that have an audit log."""


class HttpAudit:
    """Client for audit logs. Raises Unavailable if a service does not respond."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def entries(self, services: tuple[str, ...], query: Mapping[str, str]) -> list[AuditEntry]:
        """Return the latest entries of each of ``services`` that match ``query``, unordered."""
        path = f"/internal/audit?{urlencode(query)}"
        pages = await asyncio.gather(*(self._peers[name].get(path, list[AuditEntry]) for name in services))
        return [entry for page in pages for entry in page]
