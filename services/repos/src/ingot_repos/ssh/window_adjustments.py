"""A client that reads sends little but what opens its window, 1,700 packets in a clone of 30 MB; here those of one read are one.

asyncssh takes each by itself and fills the window after it. Here packets that open the window of a channel (RFC 4254, section
5.2) are taken together where they come behind each other under AES-GCM; then each channel is filled once. All other packets,
and what is wrong with these, are left to asyncssh. This can go when it does so by itself (docs/adr/0020).
"""

# ruff: noqa: SLF001 - asyncssh has no public names for what is needed of it
from struct import Struct
from typing import Any

import asyncssh
from asyncssh.constants import MSG_CHANNEL_WINDOW_ADJUST

from ingot_repos.ssh.cheap_ciphers import own_cipher

_LENGTH = b"\0\0\0\x10"
"""Of the packet: its padding's length, its kind, the channel, the count and the padding fill one block of the cipher."""
_WHOLE = len(_LENGTH) + 16 + 16
_ADJUSTMENT = Struct(">BBII")
_PADDING = 6
_RECEIVING = ("open", "eof_pending", "eof")


def take_adjustments_together(connection: asyncssh.SSHServerConnection) -> None:
    """From now on the connection does so."""
    state: Any = connection
    process_header = state._recv_pkthdr

    def process() -> bool:
        channels = _take(state)
        for channel in channels:
            channel._flush_send_buf()
        return bool(state._inpbuf) and process_header()

    state._recv_pkthdr = process


def _take(connection: Any) -> dict[Any, None]:
    """Take the packets at the beginning of what was read; the channels whose windows they opened."""
    channels = dict[Any, None]()
    buffer, position = connection._inpbuf, 0
    cipher = own_cipher(connection._recv_encryption)
    if cipher is None or not connection._auth_complete or connection._decompressor:
        return channels
    while buffer.startswith(_LENGTH, position) and len(buffer) - position >= _WHOLE:
        opened = cipher.open_early(_LENGTH, buffer[position + len(_LENGTH) : position + _WHOLE])
        if opened is None:
            break
        padding, kind, number, count = _ADJUSTMENT.unpack_from(opened)
        channel = connection._channels.get(number)
        if (
            (padding, kind) != (_PADDING, MSG_CHANNEL_WINDOW_ADJUST)
            or channel is None
            or channel._recv_state not in _RECEIVING
        ):
            break
        cipher.is_handled()
        channel._send_window += count
        channels[channel] = None
        connection._recv_seq = (connection._recv_seq + 1) & 0xFFFFFFFF
        position += _WHOLE
    connection._inpbuf = buffer[position:]
    return channels
