"""The service under test: the real app and database, with identity and repos played by fakes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import pytest_asyncio
from sqlalchemy import event, select

from ingot_chassis.inbox import Consumers
from ingot_chassis.keys import SigningKey
from ingot_chassis.migrations import upgrade
from ingot_chassis.principal import PrincipalVerifier
from ingot_chassis.testing.databases import MakeDatabase
from ingot_issues.app import SCRIPTS, create_app
from ingot_issues.consumers import Following
from ingot_issues.core.views import Viewing
from ingot_issues.settings import Settings

from .builders import FakeIdentity, FakeRepos, envelope


class World:
    """The service and ways to poke it."""

    def __init__(self, url: str) -> None:
        settings = Settings(database_url=url, private_key=SigningKey.generate().text(), background=False)
        self.identity = FakeIdentity()
        self.repos = FakeRepos(self.identity)
        self.app = create_app(settings, repos=self.repos, identity=self.identity)
        self.app.state.principal_verifier = PrincipalVerifier("issues", self.identity.keys)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge")
        self.db, self.workers = self.app.state.database, self.app.state.workers
        self.counting = self.app.state.counting
        following = Following(self.app.state.jobs, Viewing("http://127.0.0.1:3000/"))
        self._consumers = Consumers("issues", self.db, self.app.state.parts.bus, following.subscriptions())

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        as_: int = 1,
        scopes: list[str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Below the repository ann/app unless ``path`` starts with two slashes; ``as_`` 0 is nobody."""
        fields = {"scopes": scopes} if scopes is not None else {}
        headers = {"ingot-principal": self.identity.statement(as_, **fields)} if as_ else {}
        whole = f"/api/v1{path[1:]}" if path.startswith("//") else f"/api/v1/repos/ann/app{path}"
        return await self.http.request(method, whole, json=body, headers=headers, **more)

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """The SQL statements that go through SQLAlchemy inside the block."""
        counted: list[str] = []

        def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            counted.append(statement)

        engines = [engine.sync_engine for engine in (self.db.reading, self.db.writing)]
        for engine in engines:
            event.listen(engine, "before_cursor_execute", count)
        yield counted
        for engine in engines:
            event.remove(engine, "before_cursor_execute", count)

    async def hear(self, happened: msgspec.Struct) -> None:
        await self._consumers.apply(envelope(happened))

    async def counted(self) -> tuple[int, int]:
        """How many issues and pull requests are open, as it was told last."""
        await self.counting.step()
        [*_, told] = await self.events("issues.open.counted.v1")
        return told["open_issues"], told["open_pulls"]

    async def events(self, *types: str) -> list[dict[str, Any]]:
        """Everything emitted so far, in order."""
        outbox = self.db.metadata.tables["outbox"]
        async with self.db.read() as db:
            rows = (await db.execute(select(outbox).order_by(outbox.c.seq))).all()
        return [msgspec.json.decode(row.payload) for row in rows if not types or row.type in types]


@pytest_asyncio.fixture
async def world(make_database: MakeDatabase) -> AsyncIterator[World]:
    world = World(make_database("issues", lambda url: asyncio.run(upgrade(url, SCRIPTS))))
    yield world
    await world.http.aclose()
    await world.db.close()
