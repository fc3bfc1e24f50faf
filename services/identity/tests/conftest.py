"""Identity on a real database, over ASGI."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from ingot_testing.databases import MakeDatabase

from .templates import begun, started_world, teams_of_acme, with_acme
from .world import World

MakeWorld = Callable[..., AbstractAsyncContextManager[World]]
Template = Callable[[str], Awaitable[None]]


@pytest.fixture
def template(request: pytest.FixtureRequest) -> Template:
    """Return the template of the database that a test gets a copy of."""
    return with_acme if "acme" in request.fixturenames else begun


@pytest.fixture
def make_world(make_database: MakeDatabase, template: Template) -> MakeWorld:
    """``make_world(store_url=…)``: a replica with these settings, on the one database of the test."""
    return partial(started_world, make_database(template.__name__, lambda url: asyncio.run(template(url))))


@pytest.fixture
async def world(make_world: MakeWorld) -> AsyncIterator[World]:
    async with make_world() as world:
        yield world


@pytest.fixture
async def acme(world: World) -> tuple[int, int]:
    """See `with_acme`; the ids of the teams Owners and devs."""
    return teams_of_acme(world)
