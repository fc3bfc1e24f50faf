"""Patch of asyncssh 2.24: let channels wait while a client does not read.

asyncssh ignores `pause_writing` and writes as much as the window of a client allows. So a client can fill the
memory of the server: it opens its window and does not read, or does not finish a key exchange. While a client
does not read, its requests are not read either, because each one causes a response. Remove the patch when
asyncssh respects `pause_writing` (ADR 14).
"""

# ruff: noqa: SLF001 - asyncssh has no public names for what is needed of it
import asyncio
from typing import Any

import asyncssh

MOST_UNSENT = 256 * 1024
"""Bytes of one connection that wait for the socket, without those that one channel writes at once."""
MOST_DEFERRED = 10_000
"""Packets that may wait for new keys: answers to requests. Channels send nothing during a key exchange."""


class WriteLimit:
    """A limit of the unsent bytes of one connection. Waiting channels continue in turn."""

    def __init__(self, connection: asyncssh.SSHServerConnection) -> None:
        state: Any = connection
        self._connection = state
        self._is_paused = False
        self._waiting = dict[Any, None]()
        send_packet, send_newkeys = state.send_packet, state.send_newkeys

        def send(*packet: Any, **options: Any) -> None:
            send_packet(*packet, **options)
            if len(state._deferred_packets) > MOST_DEFERRED:
                connection.abort()

        def send_keys(k: bytes, h: bytes) -> None:
            send_newkeys(k, h)
            self._go_on()

        state.send_packet, state.send_newkeys = send, send_keys
        state.pause_writing, state.resume_writing = self._pause, self._resume
        state._transport.set_write_buffer_limits(high=MOST_UNSENT)

    @property
    def is_reached(self) -> bool:
        """True if channels have to wait: too much is unsent, or a key exchange is running."""
        return self._is_paused or not self._connection._kex_complete

    def apply_to(self, channel: "asyncssh.SSHServerChannel[bytes]") -> None:
        """Make the channel wait while the limit is reached, and continue afterwards."""
        state: Any = channel
        flush = state._flush_send_buf

        def flush_or_wait() -> None:
            if self.is_reached:
                self._waiting[state] = None
                state._pause_resume_writing()
            else:
                flush()

        state._flush_send_buf = flush_or_wait

    def _pause(self) -> None:
        self._is_paused = True
        if (transport := self._transport) is not None:
            transport.pause_reading()

    def _resume(self) -> None:
        self._is_paused = False
        if (transport := self._transport) is not None:
            transport.resume_reading()
            self._go_on()

    @property
    def _transport(self) -> asyncio.Transport | None:
        transport: asyncio.Transport | None = self._connection._transport
        return None if transport is None or transport.is_closing() else transport

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for channel in waiting:
            if channel._session is not None:  # it may have been closed
                channel._flush_send_buf()
