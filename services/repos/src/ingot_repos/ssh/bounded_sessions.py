"""asyncssh stores all variables, signals, breaks and sizes of a terminal that a client sends; here one short variable alone.

Whoever signs in may send them in a session for as long as the time of idleness, and nothing here reads them but
`GIT_PROTOCOL`. Packets may be as small as a client says, and each costs time and memory; here they have a least size. This
can go when asyncssh bounds these, or asks which of them are wanted (docs/adr/0020).
"""

import re
from collections.abc import Awaitable

import asyncssh
from asyncssh.stream import SSHServerStreamSession

_PROTOCOL = re.compile(rb"[A-Za-z0-9:=._/+-]{1,200}")
"""Fit for a header: a client may send any bytes."""
LEAST_PACKET = 1024
"""Bytes of data that a client must take in one packet; clients of git take 16 KiB or more."""


class Environment(dict[bytes, bytes]):
    """Of a session: what the client says of protocols."""

    def __setitem__(self, name: bytes, value: bytes) -> None:
        if name == b"GIT_PROTOCOL" and _PROTOCOL.fullmatch(value):
            super().__setitem__(name, value)


class BoundedSession(SSHServerStreamSession[bytes]):
    """Signals, breaks and sizes mean nothing to git, which ends with its channel."""

    def signal_received(self, signal: str) -> None:
        """Nothing."""

    def break_received(self, msec: int) -> bool:  # noqa: ARG002 - the name is asyncssh's
        return False

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """Nothing."""


def bounded_session(
    connection: asyncssh.SSHServerConnection, factory: asyncssh.SSHServerSessionFactory
) -> "tuple[asyncssh.SSHServerChannel[bytes], Awaitable[BoundedSession]]":
    """A session of the connection, whose streams are for ``factory``. It raises ChannelOpenError for packets that are too small."""
    channel = connection.create_server_channel()
    channel._env = Environment()  # noqa: SLF001 - asyncssh has no public name for it

    async def opened() -> BoundedSession:
        if channel._send_pktsize < LEAST_PACKET:  # noqa: SLF001
            reason = f"packets must have room for {LEAST_PACKET} bytes"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, reason)
        return BoundedSession(factory)

    return channel, opened()
