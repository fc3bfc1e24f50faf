"""A worker in a process of its own: reads the settings from its input, and sends what is due once."""

import asyncio
import sys

import msgspec

from ingot_mail.settings import Settings

from .world import World


async def _main() -> None:
    world = World(msgspec.json.decode(sys.stdin.buffer.read(), type=Settings))
    world.add_issue()
    await world.worker.step()


if __name__ == "__main__":
    asyncio.run(_main())
