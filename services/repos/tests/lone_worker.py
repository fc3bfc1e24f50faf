"""A worker in a process of its own: ``python lone_worker.py <settings as JSON>`` does one round of migrations."""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from repos_world import World


async def main(told):
    world = World(told["database"], Path(told["folder"]), allowed_remotes=told["remotes"])
    await world.parts.migrators.step()
    await world.close()


asyncio.run(main(json.loads(sys.argv[1])))
