"""asyncssh fills the window of a client as it opens; here data wait until there is room for several whole packets.

OpenSSH opens its window by what it has just passed on, 8 KiB at a time. A packet for each of these costs as much as one of
32 KiB (the silly window syndrome; RFC 1122, section 4.2.3.4, has the same remedy for TCP). The packets of one turn are
one write. This can go when asyncssh does so by itself (docs/adr/0020).
"""

import asyncio
from typing import Any

import asyncssh

ENOUGH = 256 * 1024
"""Bytes of window that are always worth packets. Less than half of a whole window is never waited for: the client may not tell
at once what it took."""
PATIENCE = 0.1
"""Seconds until what fits is sent all the same: a client may open its window only when it is shut."""


def send_full_packets(channel: "asyncssh.SSHServerChannel[bytes]") -> None:
    """From now on the channel waits while the client's window is small. Its window must be whole."""
    whole: Any = channel  # asyncssh has no public names for what is needed of it
    connection, flush_all = whole.get_connection(), whole._flush_send_buf  # noqa: SLF001
    loop = asyncio.get_running_loop()
    enough = min(ENOUGH, whole._send_window // 2)  # noqa: SLF001
    timer: asyncio.TimerHandle | None = None

    def flush() -> None:
        nonlocal timer
        if enough > whole._send_window < whole._send_buf_len:  # noqa: SLF001
            timer = timer or loop.call_later(PATIENCE, be_impatient)
            whole._pause_resume_writing()  # noqa: SLF001
        else:
            flush_what_fits()

    def be_impatient() -> None:
        if whole._send_buf:  # noqa: SLF001 - the channel is still there
            flush_what_fits()

    def flush_what_fits() -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
            timer = None
        packets = list[bytes]()
        connection._send = packets.append  # noqa: SLF001
        try:
            flush_all()
        finally:
            del connection._send  # noqa: SLF001
            if packets and connection._transport is not None:  # noqa: SLF001
                connection._transport.writelines(packets)  # noqa: SLF001

    whole._flush_send_buf = flush  # noqa: SLF001
