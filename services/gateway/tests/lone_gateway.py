"""A gateway in a process of its own, on the event loop of production, to measure its memory.

Arguments are ``transport`` and, over sockets, the URL of repos. It prints the gateway's port and serves until
it is terminated. Run it as a module: ``python -m tests.lone_gateway``.
"""

import sys

import uvloop

from ingot_chassis.http.server import bound_socket, serve_app
from ingot_gateway.app import create_app
from ingot_gateway.upstreams import AsgiUpstream, HttpUpstream
from ingot_wire.client import Origin

from .world import LOOPBACK, PUBLIC_URL, EchoService, gateway_settings


async def main(transport: str, repos_url: str) -> None:
    """Serve until the process is terminated."""
    upstream = AsgiUpstream(EchoService("repos")) if transport == "asgi" else HttpUpstream(Origin(repos_url))
    app = create_app(gateway_settings(), upstreams={"repos": upstream})
    listener = bound_socket(LOOPBACK, 0)
    port = listener.getsockname()[1]
    await serve_app(
        app,
        listener,
        public_url=PUBLIC_URL,
        drain_seconds=30,
        on_listening=lambda: print(port, flush=True),
    )


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
