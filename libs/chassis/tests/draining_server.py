"""A serving process: ``draining_server.py HOST DRAIN_SECONDS HANDOVER_SECONDS HANDOVER_LIMIT_SECONDS``.

It prints its port, then its log. ``/bytes/N`` returns N bytes, ``/chunks/N`` the same in chunks. ``/wait``
responds after a request of ``/go``.
"""

import asyncio
import sys
from typing import Any

from ingot_chassis.http.server import bound_socket, serve_app
from ingot_chassis.telemetry import configure_logging

go = asyncio.Event()


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while message := await receive():
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    _, what, *size = scope["path"].split("/")
    if what == "go":
        go.set()
    elif what == "wait":
        print("waits", flush=True)
        await go.wait()
    body = b"x" * int(size[0] if size else 2)
    headers = [] if what == "chunks" else [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def main(host: str, drain_seconds: str, handover_seconds: str, handover_limit_seconds: str) -> None:
    configure_logging("info")
    listener = bound_socket(host, 0)
    await serve_app(
        app,
        listener,
        public_url="http://ingot.test/",
        drain_seconds=int(drain_seconds),
        handover_seconds=float(handover_seconds),
        handover_limit_seconds=float(handover_limit_seconds),
        on_listening=lambda: print(listener.getsockname()[1], flush=True),
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
