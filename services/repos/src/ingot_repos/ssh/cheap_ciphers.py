"""OpenSSH prefers ciphers with a separate code (AES-CTR) to AES-GCM, which costs half; here it gets AES-GCM where it knows that.

Of two lists of ciphers the client's order counts (RFC 4253, section 7.1). So the list of the server waits for that of the
client, which OpenSSH sends unasked, and has AES-GCM alone if the client has it. Other clients get the whole list at once:
they may wait for it. This can go when OpenSSH prefers AES-GCM by itself (docs/adr/0020).
"""

from typing import Any

import asyncssh
from asyncssh.constants import MSG_KEXINIT
from asyncssh.packet import SSHPacket

CHEAP = (b"aes128-gcm@openssh.com", b"aes256-gcm@openssh.com")
_COOKIE_BYTES = 16


def prefer_cheap_ciphers(connection: asyncssh.SSHServerConnection) -> None:
    """Let the connection choose AES-GCM with clients of OpenSSH."""
    send, handlers = connection._send_kexinit, connection._packet_handlers  # noqa: SLF001 - it has no public ones
    process = handlers[MSG_KEXINIT]
    is_begun = waits = False

    def send_list() -> None:
        nonlocal is_begun, waits
        version = str(connection.get_extra_info("client_version", ""))
        waits = not is_begun and version.startswith("SSH-2.0-OpenSSH_")
        is_begun = True
        if not waits:
            send()

    def process_list(self: Any, pkttype: int, pktid: int, packet: SSHPacket) -> Any:
        nonlocal waits
        if waits:
            waits = False
            offered = _ciphers_of(packet.get_full_payload())
            if cheap := [one for one in CHEAP if one in offered]:
                connection._enc_algs = cheap  # noqa: SLF001
            send()
        return process(self, pkttype, pktid, packet)

    connection._send_kexinit = send_list  # type: ignore[method-assign]  # noqa: SLF001
    connection._packet_handlers = {**handlers, MSG_KEXINIT: process_list}  # noqa: SLF001


def _ciphers_of(payload: bytes) -> list[bytes]:
    """The ciphers for what the server sends, in the list of algorithms of a client; RFC 4253, section 7.1."""
    packet = SSHPacket(payload[1 + _COOKIE_BYTES :])
    *_, ciphers = (packet.get_namelist() for _ in range(4))
    return list(ciphers)
