"""asyncssh stores all variables, signals, breaks and sizes of a terminal that a client sends; here one short variable alone.

Whoever signs in may send them in a session for as long as the time of idleness, and nothing here reads them but
`GIT_PROTOCOL`. This can go when asyncssh bounds them, or asks which of them are wanted (docs/adr/0020).
"""

import re

import asyncssh
from asyncssh.stream import SSHServerStreamSession

_PROTOCOL = re.compile(rb"[A-Za-z0-9:=._/+-]{1,200}")
"""Fit for a header: a client may send any bytes."""


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
) -> "tuple[asyncssh.SSHServerChannel[bytes], BoundedSession]":
    """A session of the connection, whose streams are for ``factory``."""
    channel = connection.create_server_channel()
    channel._env = Environment()  # noqa: SLF001 - asyncssh has no public name for it
    return channel, BoundedSession(factory)
