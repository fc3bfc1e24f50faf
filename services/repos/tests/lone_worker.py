"""A worker as a process: ``python lone_worker.py <settings as JSON>`` runs one round of imports."""

import asyncio
import json
import sys
from pathlib import Path

from world import World


async def main(settings):
    world = World(settings["database"], Path(settings["folder"]), allowed_remotes=settings["remotes"])
    await world.components.import_workers.step()
    await world.close()


asyncio.run(main(json.loads(sys.argv[1])))
