"""Fixtures: a gateway in front of fake services, for both ways to reach a service."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from .world import World, open_world


@pytest.fixture(params=["http", "asgi"])
def transport(request: pytest.FixtureRequest) -> str:
    """Return the transport from the gateway to the services: sockets or its own process."""
    return str(request.param)


@pytest.fixture
async def world(transport: str) -> AsyncIterator[World]:
    """A gateway with default settings."""
    async with open_world(transport) as world:
        yield world


@pytest.fixture
async def client(world: World) -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client of the gateway. It stores no cookies and decompresses nothing."""
    async with aiohttp.ClientSession(
        world.url, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield session
