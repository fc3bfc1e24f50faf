"""The service under test."""

import pytest_asyncio

from .forge import FakeForge
from .world import World


@pytest_asyncio.fixture
async def world():
    world = World()
    yield world
    await world.close()


@pytest_asyncio.fixture
async def forge():
    return FakeForge()


@pytest_asyncio.fixture
async def pages(forge):
    """The service with ``forge`` behind it."""
    world = World(forge)
    yield world
    await world.close()
