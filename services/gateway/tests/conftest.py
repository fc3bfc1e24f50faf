"""The world around a gateway, over both ways to reach a service."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from gateway_world import World, world


@pytest.fixture(params=["http", "asgi"])
def transport(request: pytest.FixtureRequest) -> str:
    """How the gateway reaches the services: over sockets or in its own process."""
    return str(request.param)


@pytest.fixture
async def forge(transport: str) -> AsyncIterator[World]:
    """A gateway and stand-ins for the services, with the settings as they are."""
    async with world(transport) as made:
        yield made


@pytest.fixture
async def client(forge: World) -> AsyncIterator[aiohttp.ClientSession]:
    """Calls the gateway as a program far away does; keeps nothing, follows nothing."""
    async with aiohttp.ClientSession(
        forge.url, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield session
