"""Databases of identity as tests find them, each made once and copied, and the service started on one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
from cryptography.fernet import Fernet

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.security.keys import SigningKey
from ingot_identity.app import create_app
from ingot_identity.authentication.components import AuthenticationComponents
from ingot_identity.migrations import SCRIPTS
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.settings import Settings
from ingot_testing.lifespan import started

from .world import GATEWAY, PASSWORD, REPOS, World

PRIVATE_KEY, SEALING_KEY = SigningKey.generate().text(), Fernet.generate_key().decode()
"""The keys of all tests, because a template's secrets are sealed with them."""
_ACME: dict[str, tuple[int, int]] = {}
"""The ids of the teams of acme, by kind of database."""


@asynccontextmanager
async def started_world(database_url: str, **changes: Any) -> AsyncIterator[World]:
    settings = Settings(
        database_url=database_url,
        private_key=PRIVATE_KEY,
        sealing_key=SEALING_KEY,
        public_keys=GATEWAY.public_keys("gateway") | REPOS.public_keys("repos", "mail", "web"),
        background=False,
        admin_password=PASSWORD,
        password_memory_kib=32,
        password_rounds=1,
        deletion_patience=0,
    )
    app = create_app(msgspec.structs.replace(settings, **changes))
    async with (
        started(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://identity") as http,
    ):
        yield World(app, http)


async def without_rows(database_url: str) -> None:
    """Delete the rows of a database, as before the first start of a service."""
    await upgrade(database_url, SCRIPTS)


async def begun(database_url: str) -> None:
    """With what the first start adds, and the first requests: the first administrator and keys that sign."""
    await without_rows(database_url)
    async with started_world(database_url) as world:
        await world.part(AuthenticationComponents).signing_keys.current()
        await world.part(OAuth2Components).id_token_keys.current()


async def with_acme(database_url: str) -> None:
    """ann owns acme, mia is in its team devs, sam is a stranger."""
    await begun(database_url)
    async with started_world(database_url) as world:
        for name in ("ann", "mia", "sam"):
            await world.add_user(name)
        await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
        devs = (await world.call("POST", "/orgs/acme/teams", {"name": "devs"}, as_="ann")).json()["id"]
        await world.call("PUT", f"/teams/{devs}/members/mia", as_="ann")
        owners = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    _ACME[kind_of(world)] = owners, devs


def teams_of_acme(world: World) -> tuple[int, int]:
    """The ids of the teams Owners and devs, where the database is one `with_acme`."""
    return _ACME[kind_of(world)]


def kind_of(world: World) -> str:
    return world.database.url.get_backend_name()
