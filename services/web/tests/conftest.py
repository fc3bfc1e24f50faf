"""The service under test."""

import pytest_asyncio

from .world import World


@pytest_asyncio.fixture
async def world():
    world = World()
    yield world
    await world.client.aclose()
