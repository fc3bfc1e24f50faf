"""Identity as its tests see it: the app, the ways to speak to it, and what it told others."""

from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
from litestar import Litestar
from sqlalchemy import event

from ingot_chassis.events import Envelope, event_type
from ingot_chassis.inbox import Consumers
from ingot_chassis.keys import SigningKey
from ingot_chassis.principal import Principal, ServiceIdentity, sign_principal
from ingot_chassis.tables import now
from ingot_contracts.identity import User
from ingot_contracts.repos import Repository, RepositoryCreated
from ingot_identity.consumers import Following
from ingot_identity.core.views import Viewing

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

    async def told(self, owner_id: int, *, id_: int = 1, before: int = 0) -> httpx.Response:
        """What repos says of a repository before it says anything to anybody else."""
        headers = {"ingot-service": ServiceIdentity("repos", REPOS).statement("identity")}
        body = {"owner_id": owner_id, "name": "app", "private": False, "before": before}
        return await self.http.put(f"/internal/repositories/{id_}", json=body, headers=headers)

    async def call(
        self, method: str, path: str, body: object = None, *, as_: str = "", token: str = ""
    ) -> httpx.Response:
        """One request as the person of that name (by password), or with a token, or as nobody."""
        headers = await self._headers(as_, token)
        return await self.http.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def call_raw(self, method: str, path: str, body: str, *, as_: str) -> httpx.Response:
        """The same with a body as it is sent."""
        headers = await self._headers(as_, "") | {"content-type": "application/json"}
        return await self.http.request(method, f"/api/v1{path}", content=body.encode(), headers=headers)

    async def _headers(self, as_: str, token: str) -> dict[str, str]:
        credential = {"token": token} if token else {"name": as_, "password": SECRET}
        key = token or as_
        if key and key not in self._statements:
            self._statements[key] = (await self.authenticate(**credential)).json()["statement"]
        return {"ingot-principal": self._statements[key]} if key else {}

    async def add_user(self, name: str) -> int:
        body = {"username": name, "email": f"{name}@example.com", "password": SECRET}
        return (await self.call("POST", "/admin/users", body, as_="root")).json()["id"]

    async def events(self) -> list[str]:
        """The types of everything emitted so far."""
        return [row.type for row in await self._outbox()]

    async def payloads(self, happened: type[msgspec.Struct]) -> list[msgspec.Struct]:
        """What was told in events of that type."""
        rows = await self._outbox()
        return [
            msgspec.json.decode(row.payload, type=happened)
            for row in rows
            if row.type == event_type(happened)
        ]

    async def _outbox(self) -> list[Any]:
        outbox = self.app.state.database.metadata.tables["outbox"]
        async with self.app.state.database.read() as db:
            return list(await db.execute(outbox.select().order_by(outbox.c.seq)))

    async def statement_of(self, principal: Principal) -> str:
        """What identity itself would hand out for ``principal``."""
        return sign_principal(principal, await self.app.state.signing_keys.current(), audience=["identity"])

    async def hear(self, happened: msgspec.Struct, *, id_: str = "e1") -> bool:
        """Apply an event of repos, as its consumer does; whether it was new."""
        following = Following(Viewing("http://127.0.0.1:3000/", "noreply.localhost"))
        parts = self.app.state.parts
        consumers = Consumers("identity", parts.database, parts.bus, following.subscriptions())
        return await consumers.apply(
            Envelope(
                id=id_,
                type=event_type(type(happened)),
                key="1",
                seq=1,
                occurred_at=now(),
                data=msgspec.Raw(msgspec.json.encode(happened)),
            )
        )

    @contextmanager
    def counting(self):
        """The SQL statements that are executed inside."""
        statements: list[str] = []

        def count(*happened):
            statements.append(happened[2])

        engines = [self.app.state.database.reading, self.app.state.database.writing]
        for engine in engines:
            event.listen(engine.sync_engine, "before_cursor_execute", count)
        yield statements
        for engine in engines:
            event.remove(engine.sync_engine, "before_cursor_execute", count)


def repository(owner_id: int, *, id_: int = 1) -> Repository:
    """A repository of that owner."""
    return Repository(
        id=id_,
        owner=User(id=owner_id, login="x"),
        name="app",
        full_name="x/app",
        created_at=now(),
        updated_at=now(),
    )


def created(owner_id: int) -> RepositoryCreated:
    """Somebody made a repository for that owner."""
    return RepositoryCreated(repository=repository(owner_id), sender=User(id=1, login="root"))
