"""Identity on a real database, over ASGI."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
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


@pytest.fixture
async def identity(make_database: MakeDatabase) -> AsyncIterator[Identity]:
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
    app = create_app(settings)
    async with (
        started(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http,
    ):
        yield Identity(app, http)
