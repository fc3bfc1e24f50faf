"""Settings of a service with an empty database, and the service under test."""

import asyncio

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.security.keys import SigningKey
from ingot_hooks.migrations import SCRIPTS
from ingot_hooks.settings import Settings

from .world import World


@pytest.fixture
def settings(make_database):
    return Settings(
        database_url=make_database("hooks", lambda url: asyncio.run(upgrade(url, SCRIPTS))),
        private_key=SigningKey.generate().text(),
        sealing_key=Fernet.generate_key().decode(),
        allowed_targets=["127.0.0.0/8"],
        background=False,
        public_url="http://forge/",
    )


@pytest_asyncio.fixture
async def world(settings):
    world = World(settings)
    yield world
    await world.close()
