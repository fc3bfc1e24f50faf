"""Patch of asyncssh 2.24: bound what a client can store in a session.

asyncssh stores every variable, signal, break and terminal size that a client sends. A signed-in client may
send them until its connection counts as idle, and only `GIT_PROTOCOL` is read here. asyncssh also accepts
packets of any small size, and each packet costs time and memory. Remove the patch when asyncssh bounds these
or lets a server choose (ADR 14).
"""

import re
from collections.abc import Awaitable

import asyncssh
from asyncssh.stream import SSHServerStreamSession

_PROTOCOL = re.compile(rb"[A-Za-z0-9:=._/+-]{1,200}")
"""The allowed characters: those of a header value. A client may send any bytes."""
LEAST_PACKET = 1024
"""Bytes of data that a client must take in one packet; clients of git take 16 KiB or more."""


class Environment(dict[bytes, bytes]):
    """Environment variables of a session. Only `GIT_PROTOCOL` is stored."""

    def __setitem__(self, name: bytes, value: bytes) -> None:
        if name == b"GIT_PROTOCOL" and _PROTOCOL.fullmatch(value):
            super().__setitem__(name, value)


class BoundedSession(SSHServerStreamSession[bytes]):
    """A session that ignores signals, breaks and terminal sizes: git ends with its channel."""

    def signal_received(self, signal: str) -> None:
        """Ignore signals."""

    def break_received(self, msec: int) -> bool:  # noqa: ARG002 - the name is asyncssh's
        return False

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """Ignore terminal sizes."""


def bounded_session(
    connection: asyncssh.SSHServerConnection, factory: asyncssh.SSHServerSessionFactory
) -> "tuple[asyncssh.SSHServerChannel[bytes], Awaitable[BoundedSession]]":
    """Return a channel, and its session, which gives its streams to ``factory``.

    Awaiting the session raises ChannelOpenError if the client accepts only small packets.
    """
    channel = connection.create_server_channel()
    channel._env = Environment()  # noqa: SLF001 - asyncssh has no public name for it

    async def opened() -> BoundedSession:
        if channel._send_pktsize < LEAST_PACKET:  # noqa: SLF001
            reason = f"packets must have room for {LEAST_PACKET} bytes"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, reason)
        return BoundedSession(factory)

    return channel, opened()
