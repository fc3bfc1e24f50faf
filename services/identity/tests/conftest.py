"""Identity as its tests see it: the real app over ASGI on a real database, and a caller as a parameter."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from cryptography.fernet import Fernet
from litestar import Litestar

from ingot_chassis.keys import SigningKey
from ingot_chassis.migrations import upgrade
from ingot_chassis.principal import ServiceIdentity
from ingot_chassis.testing.databases import MakeDatabase
from ingot_chassis.testing.lifespan import started
from ingot_identity.app import SCRIPTS, create_app
from ingot_identity.settings import Settings

GATEWAY, REPOS = SigningKey.generate(), SigningKey.generate()
SECRET = "correct horse"


class Identity:
    """The service, and the ways to speak to it."""

    def __init__(self, app: Litestar, http: httpx.AsyncClient) -> None:
        self.app, self.http = app, http
        self._statements: dict[str, str] = {}

    async def authenticate(self, **credential: str) -> httpx.Response:
        headers = {"ingot-service": ServiceIdentity("gateway", GATEWAY).statement("identity")}
        return await self.http.post("/internal/authenticate", json=credential, headers=headers)

    async def as_sister(self, path: str) -> httpx.Response:
        headers = {"ingot-service": ServiceIdentity("repos", REPOS).statement("identity")}
        return await self.http.get(path, headers=headers)

    async def call(
        self, method: str, path: str, body: object = None, *, as_: str = "", token: str = ""
    ) -> httpx.Response:
        """One request as the person of that name (by password), or with a token, or as nobody."""
        credential = {"token": token} if token else {"name": as_, "password": SECRET}
        key = token or as_
        if key and key not in self._statements:
            self._statements[key] = (await self.authenticate(**credential)).json()["statement"]
        headers = {"ingot-principal": self._statements[key]} if key else {}
        return await self.http.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def add_user(self, name: str) -> int:
        body = {"username": name, "email": f"{name}@example.com", "password": SECRET}
        return (await self.call("POST", "/admin/users", body, as_="root")).json()["id"]

    async def events(self) -> list[str]:
        """The types of everything emitted so far."""
        outbox = self.app.state.database.metadata.tables["outbox"]
        async with self.app.state.database.read() as db:
            return [row.type for row in await db.execute(outbox.select().order_by(outbox.c.seq))]


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
