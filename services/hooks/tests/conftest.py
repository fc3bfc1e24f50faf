"""The service under test: the real app and database, with identity and repos played by ``Sisters``."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
from cryptography.fernet import Fernet

from ingot_chassis.inbox import Consumers
from ingot_chassis.keys import SigningKey
from ingot_chassis.migrations import upgrade
from ingot_chassis.peers import Peers
from ingot_chassis.principal import ServiceIdentity
from ingot_chassis.testing.databases import MakeDatabase
from ingot_hooks import consumers
from ingot_hooks.app import SCRIPTS, create_app
from ingot_hooks.settings import Settings

from .builders import Sisters, envelope


class World:
    """One running service and ways to poke it."""

    def __init__(self, settings: Settings, sisters: Sisters) -> None:
        own = ServiceIdentity("hooks", SigningKey.read(settings.private_key))
        peers = Peers.in_process({"identity": sisters.identity, "repos": sisters.repos}, own)
        self.settings, self.sisters = settings, sisters
        self.app = create_app(settings, peers=peers)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge")
        self.db, self.deliverer = self.app.state.database, self.app.state.deliverer
        self.endpoints, self.rights = self.app.state.endpoints, self.app.state.rights
        subscriptions = consumers.subscriptions(self.app.state.bell.ring, self.app.state.bell.ring)
        self._consumers = Consumers("hooks", self.db, self.app.state.parts.bus, subscriptions)

    async def call(
        self, method: str, path: str, body: Any = None, *, user: int = 1, **who: Any
    ) -> httpx.Response:
        """As the user; 0 is nobody."""
        headers = {"ingot-principal": self.sisters.statement(user, **who)} if user else {}
        return await self.client.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def close(self) -> None:
        await self.client.aclose()
        await self.endpoints.close()
        await self.db.close()

    async def hear(self, event: msgspec.Struct, *, id_: str = "") -> None:
        await self._consumers.apply(envelope(event, id_=id_))


@pytest.fixture
def settings(make_database: MakeDatabase) -> Settings:
    return Settings(
        database_url=make_database("hooks", lambda url: asyncio.run(upgrade(url, SCRIPTS))),
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        allowed_targets=["127.0.0.0/8"],
        background=False,
        public_url="http://forge/",
    )


@pytest_asyncio.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    world = World(settings, Sisters())
    yield world
    await world.close()
