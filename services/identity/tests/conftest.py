"""Identity on a real database, over ASGI."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest
from cryptography.fernet import Fernet

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.testing.databases import MakeDatabase
from ingot_chassis.testing.lifespan import started
from ingot_identity.app import SCRIPTS, create_app
from ingot_identity.settings import Settings

from .world import GATEWAY, PASSWORD, REPOS, World

MakeWorld = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def make_world(make_database: MakeDatabase) -> MakeWorld:
    """``make_world(store_url=…)``: a replica with these settings, on the one database of the test."""
    settings = Settings(
        database_url=make_database("identity", lambda url: asyncio.run(upgrade(url, SCRIPTS))),
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        public_keys=GATEWAY.public_keys("gateway") | REPOS.public_keys("repos"),
        background=False,
        admin_password=PASSWORD,
        password_memory_kib=32,
        password_rounds=1,
        deletion_patience=0,
    )

    @asynccontextmanager
    async def make(**changes: Any) -> AsyncIterator[World]:
        app = create_app(msgspec.structs.replace(settings, **changes))
        async with (
            started(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http,
        ):
            yield World(app, http)

    return make


@pytest.fixture
async def world(make_world: MakeWorld) -> AsyncIterator[World]:
    async with make_world() as world:
        yield world


@pytest.fixture
async def acme(world: World) -> tuple[int, int]:
    """ann owns acme, mia is in its team devs, sam is a stranger. The ids of the teams Owners and devs."""
    for name in ("ann", "mia", "sam"):
        await world.add_user(name)
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    devs = (await world.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="ann")).json()["id"]
    await world.call("PUT", f"/teams/{devs}/members/mia", as_="ann")
    owners = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    return owners, devs
