"""Identity on a real database, over ASGI."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from cryptography.fernet import Fernet

sys.path.insert(0, str(Path(__file__).parent))

from identity_world import GATEWAY, REPOS, SECRET, Identity

from ingot_chassis.keys import SigningKey
from ingot_chassis.migrations import upgrade
from ingot_chassis.testing.databases import MakeDatabase
from ingot_chassis.testing.lifespan import started
from ingot_identity.app import SCRIPTS, create_app
from ingot_identity.settings import Settings

MakeIdentity = Callable[..., AbstractAsyncContextManager[Identity]]


@pytest.fixture
def make_identity(make_database: MakeDatabase) -> MakeIdentity:
    """``make_identity(store_url=…)``: a replica with these settings, on the one database of the test."""
    settings = Settings(
        database_url=make_database("identity", lambda url: asyncio.run(upgrade(url, SCRIPTS))),
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        public_keys={"gateway": GATEWAY.x, "repos": REPOS.x},
        background=False,
        admin_password=SECRET,
        password_memory_kib=32,
        password_rounds=1,
        deletion_patience=0,
    )

    @asynccontextmanager
    async def make(**changed: Any) -> AsyncIterator[Identity]:
        app = create_app(msgspec.structs.replace(settings, **changed))
        async with (
            started(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http,
        ):
            yield Identity(app, http)

    return make


@pytest.fixture
async def identity(make_identity: MakeIdentity) -> AsyncIterator[Identity]:
    async with make_identity() as made:
        yield made
