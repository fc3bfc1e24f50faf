"""A process of its own with a gateway in it, so that its memory can be looked at.

Takes ``transport`` and, over sockets, the URL of repos; prints the gateway's port and serves until it is ended.
"""

import asyncio
import sys

from gateway_world import StandIn, settings

from ingot_chassis.server import bound_socket, serve_app
from ingot_gateway.app import create_app
from ingot_gateway.upstreams import AsgiUpstream, HttpUpstream


async def main(transport: str, repos_url: str) -> None:
    upstream = AsgiUpstream(StandIn("repos")) if transport == "asgi" else HttpUpstream(repos_url)
    app = create_app(settings(), upstreams={"repos": upstream})
    listener = bound_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    await serve_app(
        app,
        listener,
        public_url="http://ingot.test/",
        drain_seconds=1,
        on_listening=lambda: print(port, flush=True),
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
