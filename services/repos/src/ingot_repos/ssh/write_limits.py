"""asyncssh writes what the window of a client allows, also to one that reads nothing; here channels wait until it reads.

A client may open its window without reading. It may also begin to agree on new keys and never end, while asyncssh collects
what is to be sent afterwards. Both filled the memory of all. While a client does not read, nothing of it is read
either, since each request makes an answer. This can go when asyncssh heeds `pause_writing` by itself (docs/adr/0020).
"""

# ruff: noqa: SLF001 - asyncssh has no public names for what is needed of it
import asyncio
from typing import Any

import asyncssh

MOST_UNSENT = 256 * 1024
"""Bytes of one connection that wait for the socket; what a channel writes at once comes on top."""
MOST_DEFERRED = 10_000
"""Packets that wait for new keys: answers to what the client goes on to ask, as channels send none meanwhile."""
REST = 0.002
"""Seconds, which nobody notices."""
WIDE = 1024 * 1024
"""Bytes: at 200 MB a second a client passes on 400 KB in that time."""


class WriteLimit:
    """Says when channels of a connection have to wait, and lets them go on afterwards, one after the other."""

    def __init__(self, connection: asyncssh.SSHServerConnection) -> None:
        state: Any = connection
        self._connection = state
        self._is_paused = self._is_resting = False
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
        """Whether channels have to wait: too much is unsent, or keys are being agreed on."""
        return self._is_paused or not self._connection._kex_complete

    def wait(self, channel: Any) -> None:
        """Let the channel go on when the limit is not reached any more. It may have to wait again then."""
        self._waiting[channel] = None

    def rest(self, window: int) -> None:
        """Read nothing of the client for a moment: of what it says in many small packets more is read at once then.

        Not where its whole ``window`` is narrow, which it would have passed on before the moment ends.
        """
        is_wide = window >= WIDE and not self._is_resting and not self._is_paused
        if is_wide and (transport := self._transport) is not None:
            self._is_resting = True
            transport.pause_reading()
            asyncio.get_running_loop().call_later(REST, self._end_rest)

    def _end_rest(self) -> None:
        self._is_resting = False
        if not self._is_paused and (transport := self._transport) is not None:
            transport.resume_reading()

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
            if channel._session is not None:  # it may have been closed meanwhile
                channel._flush_send_buf()
