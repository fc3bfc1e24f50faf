"""A server in a process of its own, to measure its memory: ``python lone_repos.py <settings as JSON>``.

It prints one line of JSON: its port, the headers of a caller, and the path for uploads of release files. Then
it serves until it is terminated.
"""

import asyncio
import json
import sys
from pathlib import Path

from world import World

from ingot_chassis.http.server import bound_socket, serve_app
from ingot_chassis.telemetry import configure_logging


async def main(settings):
    configure_logging("error")
    world = World(settings.pop("database"), Path(settings.pop("folder")), **settings)
    ann = world.user(1, "ann")
    await ann.create("app", auto_init=True)
    release = (await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})).json()
    listener = bound_socket("127.0.0.1", 0)
    ready = {
        "port": listener.getsockname()[1],
        "headers": ann.headers(),
        "assets": release["upload_url"].removeprefix(world.settings.public_url.rstrip("/")),
    }
    await serve_app(
        world.app,
        listener,
        public_url=world.settings.public_url,
        drain_seconds=3,  # in which it reads what has come, also on a busy machine
        on_listening=lambda: print(json.dumps(ready), flush=True),
    )


asyncio.run(main(json.loads(sys.argv[1])))
