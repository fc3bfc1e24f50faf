"""Patch of asyncssh 2.24: do not send MSG_IGNORE.

asyncssh sends a packet for the client to ignore before each other packet, which doubles the cost of a clone.
Such packets protect ciphers in CBC mode (RFC 4251, section 9.3.1), and the server offers none. Remove the
patch when asyncssh sends them for CBC alone (ADR 14).
"""

from typing import Any

import asyncssh
from asyncssh.constants import MSG_IGNORE


def leave_out_ignored_packets(connection: asyncssh.SSHServerConnection) -> None:
    """Make the connection send no MSG_IGNORE packets."""
    send_packet = connection.send_packet

    def send(pkttype: int, *args: bytes, **options: Any) -> None:
        if pkttype != MSG_IGNORE:
            send_packet(pkttype, *args, **options)

    connection.send_packet = send  # type: ignore[method-assign]
