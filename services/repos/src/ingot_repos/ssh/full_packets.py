"""asyncssh fills the window of a client as it opens; here data wait until there is room for several whole packets.

OpenSSH opens its window by what it has just passed on, 8 KiB at a time. A packet for each of these costs as much as one of
32 KiB (the silly window syndrome; RFC 1122, section 4.2.3.4, has the same remedy for TCP). The packets of one turn are
one write; under AES-GCM they are made here, as asyncssh copies what is in them eight times. This can go when asyncssh does so
by itself (docs/adr/0020).
"""

# ruff: noqa: SLF001 - asyncssh has no public names for what is needed of it
import asyncio
import os
import time
from struct import Struct
from typing import Any

import asyncssh
from asyncssh.constants import MSG_CHANNEL_DATA

from ingot_repos.ssh.cheap_ciphers import MAC_BYTES, Gcm, own_cipher
from ingot_repos.ssh.write_limits import WriteLimit

ENOUGH = 512 * 1024
"""Bytes of window that are always worth packets. Less than half of a whole window is never waited for: the client may not tell
at once what it took."""
PATIENCE = 0.1
"""Seconds until what fits is sent all the same: a client may open its window only when it is shut."""
LONGEST = 32 * 1024
"""Bytes of data in a packet: OpenSSH takes 32 KiB at most, and others say what they take."""
_HEAD = Struct(">IBBII")
"""Of a packet of data: its length, that of its padding, its kind, the channel, the length of the data."""
_LENGTH_BYTES, _BLOCK, _LEAST_PADDING = 4, 16, 4
_DRAWN_BYTES = 512
_MOST_FRAMING = _HEAD.size + _BLOCK + _LEAST_PADDING


def send_full_packets(channel: "asyncssh.SSHServerChannel[bytes]", limit: WriteLimit) -> None:
    """From now on the channel waits while the client's window is small or the limit is reached. Its window must be whole."""
    whole: Any = channel
    connection, flush_all = whole.get_connection(), whole._flush_send_buf
    loop = asyncio.get_running_loop()
    window = whole._send_window
    enough = min(ENOUGH, window // 2)
    timer: asyncio.TimerHandle | None = None
    sealer = Sealer(whole, connection)

    def flush() -> None:
        nonlocal timer
        if limit.is_reached:
            limit.wait(whole)
            whole._pause_resume_writing()
        elif enough > whole._send_window < whole._send_buf_len:
            timer = timer or loop.call_later(PATIENCE, be_impatient)
            whole._pause_resume_writing()
            limit.rest(window)
        else:
            flush_what_fits()

    def be_impatient() -> None:
        nonlocal timer
        timer = None
        if limit.is_reached:
            flush()
        elif whole._send_buf:  # the channel is still there
            flush_what_fits()

    def flush_what_fits() -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
            timer = None
        sealed = sealer.packets()
        packets = [sealed] if sealed else []
        connection._send = packets.append
        try:
            flush_all()  # what is left, and the end
        finally:
            del connection._send
            if packets and connection._transport is not None:
                connection._transport.writelines(packets)

    whole._flush_send_buf = flush


class Sealer:
    """Makes the packets of data of a channel, byte for byte as asyncssh does (RFC 4253, section 6; RFC 5647, section 7.2)."""

    def __init__(self, channel: Any, connection: Any) -> None:
        self._channel, self._connection = channel, connection
        self._size = min(channel._send_pktsize, LONGEST)
        self._plain = bytearray(self._size + _MOST_FRAMING)
        self._drawn = b""

    def packets(self) -> bytearray:
        """What fits into the window; nothing where asyncssh has more to do, such as to agree on new keys."""
        channel, waiting = self._channel, self._channel._send_buf
        size, sealed = self._size, bytearray()
        most = min(channel._send_window, channel._send_buf_len)
        if most > 0 and self._cipher() is not None:
            sealed = bytearray(most + (most // size + len(waiting) + 1) * (_MOST_FRAMING + MAC_BYTES))
        end = 0
        while sealed and waiting and channel._send_window > 0 and (cipher := self._cipher()) is not None:
            content, kind = waiting[0]
            if kind is not None:
                break
            length = min(channel._send_window, size, len(content))
            end = self._seal(cipher, content, length, sealed, end)
            if length == len(content):
                del waiting[0]
            else:
                del content[:length]
            channel._send_buf_len -= length
            channel._send_window -= length
        del sealed[end:]
        return sealed

    def _cipher(self) -> Gcm | None:
        """None where asyncssh makes the next packet."""
        connection = self._connection
        is_rekey_due = connection._rekey_bytes_sent >= connection._rekey_bytes or (
            connection._rekey_seconds and time.monotonic() >= connection._rekey_time
        )
        is_open = (
            connection._auth_complete and connection._kex_complete and self._channel._send_chan is not None
        )
        if is_rekey_due or not is_open or connection._compressor is not None:
            return None
        return own_cipher(connection._send_encryption)

    def _random(self, count: int) -> bytes:
        """Bytes for the padding of one packet. They are drawn for many at once, since each draw is a call of the system."""
        if len(self._drawn) < count:
            self._drawn = os.urandom(_DRAWN_BYTES)
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken

    def _seal(self, cipher: Gcm, content: bytearray, length: int, sealed: bytearray, start: int) -> int:
        """The first bytes of the content as a packet into ``sealed`` from ``start`` on; where it ends."""
        connection, head = self._connection, _HEAD.size - _LENGTH_BYTES
        padding = -(head + length) % _BLOCK
        if padding < _LEAST_PADDING:
            padding += _BLOCK
        packet = head + length + padding
        end = start + _LENGTH_BYTES + packet + MAC_BYTES
        fields = (packet, padding, MSG_CHANNEL_DATA, self._channel._send_chan, length)
        _HEAD.pack_into(self._plain, 0, *fields)
        with memoryview(self._plain) as plain, memoryview(content) as data, memoryview(sealed) as whole:
            plain[_HEAD.size : _HEAD.size + length] = data[:length]
            plain[_HEAD.size + length : _LENGTH_BYTES + packet] = self._random(padding)
            whole[start : start + _LENGTH_BYTES] = plain[:_LENGTH_BYTES]
            cipher.seal_into(
                plain[:_LENGTH_BYTES],
                plain[_LENGTH_BYTES : _LENGTH_BYTES + packet],
                whole[start + _LENGTH_BYTES : end],
            )
        connection._send_seq = (connection._send_seq + 1) & 0xFFFFFFFF
        connection._rekey_bytes_sent += packet
        return end
