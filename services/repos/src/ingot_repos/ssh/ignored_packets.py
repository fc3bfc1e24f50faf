"""asyncssh sends a packet to be ignored before each other one, which doubles what a clone costs; here it is left out.

Such packets hide the vectors of ciphers in CBC mode (RFC 4251, section 9.3.1). The server offers none of these. This can
go when asyncssh sends them for CBC alone (docs/adr/0020).
"""

from typing import Any

import asyncssh
from asyncssh.constants import MSG_IGNORE


def leave_out_ignored_packets(connection: asyncssh.SSHServerConnection) -> None:
    """From now on the connection sends no packets that the client would ignore."""
    send_packet = connection.send_packet

    def send(pkttype: int, *args: bytes, **options: Any) -> None:
        if pkttype != MSG_IGNORE:
            send_packet(pkttype, *args, **options)

    connection.send_packet = send  # type: ignore[method-assign]
