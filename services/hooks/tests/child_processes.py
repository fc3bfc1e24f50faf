"""The service and a receiver of deliveries, each in a process of its own that can be killed.

``python child_processes.py hooks <settings as JSON>`` or
``python child_processes.py receiver <port> <log> [hangs]``.
"""

import asyncio
import os
import sys
import time

import msgspec

HANGS = b"/hang"


class Endpoint(asyncio.Protocol):
    """A receiver that logs each request and answers 204. If it hangs, it does not answer below /hang.

    It parses only as much of HTTP as it needs.
    """

    def __init__(self, log: int, *, hangs: bool) -> None:
        self._log, self._hangs, self._buffer = log, hangs, b""

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = int(header(head, b"content-length"))
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1]
        start = body.index(b"event:")
        event = body[start + 6 : body.index(b'"', start)]
        line = b" ".join((path, header(head, b"webhook-id"), event, b"%.6f" % time.time()))
        os.write(self._log, line + b"\n")
        if not (self._hangs and path.startswith(HANGS)):
            self._transport.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")


def header(head: bytes, name: bytes) -> bytes:
    start = head.lower().index(b"\r\n" + name + b":") + len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end > 0 else len(head)].strip()


async def receive(port: int, log: str, *, hangs: bool) -> None:
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    server = await asyncio.get_running_loop().create_server(
        lambda: Endpoint(file, hangs=hangs), "0.0.0.0", port, backlog=1000, reuse_address=True
    )
    await server.serve_forever()


async def repos(scope, _receive, send) -> None:
    """A peer that gives everybody access to everything."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'{"level": "owner"}'})


async def serve(settings_json: str) -> None:
    from ingot_chassis.events.bus import Bus
    from ingot_chassis.http.server import bound_socket, serve_app
    from ingot_chassis.peers.peers import Peers
    from ingot_chassis.security.keys import SigningKey
    from ingot_chassis.security.principal import ServiceIdentity
    from ingot_chassis.telemetry import configure_logging
    from ingot_hooks.app import create_app
    from ingot_hooks.settings import Settings

    configure_logging("error")
    settings = msgspec.json.decode(settings_json, type=Settings)
    bus = Bus(settings.nats_url, name="hooks", ack_wait=2)
    own = ServiceIdentity("hooks", SigningKey.read(settings.private_key))
    app = create_app(settings, bus=bus, peers=Peers.in_process({"repos": repos, "identity": repos}, own))
    await serve_app(app, bound_socket("127.0.0.1", 0), public_url=settings.public_url, drain_seconds=1)


if __name__ == "__main__":
    import uvloop

    program, *arguments = sys.argv[1:]
    uvloop.run(
        serve(arguments[0])
        if program == "hooks"
        else receive(int(arguments[0]), arguments[1], hangs="hangs" in arguments[2:])
    )
