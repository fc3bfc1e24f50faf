"""Identity as its tests see it: the app, the ways to call it, and what it emitted."""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

import httpx
import msgspec
from litestar import Litestar

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.http.paging import Page
from ingot_chassis.http.parts import PARTS, Parts, T
from ingot_chassis.security.principal import ANONYMOUS, Principal, sign_principal
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryCreated
from ingot_contracts.repos.repositories import Repository
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.authentication.components import AuthenticationComponents
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions import store as session_store
from ingot_identity.sessions.rules import stamp_of
from ingot_testing import service
from ingot_testing.service import Callers

GATEWAY, REPOS = Callers("identity"), Callers("identity")
"""Each with a key of its own."""
PASSWORD = "correct horse"

_E = TypeVar("_E", bound=msgspec.Struct)


class World:
    """The service, and the ways to call it."""

    def __init__(self, app: Litestar, http: httpx.AsyncClient) -> None:
        self.app, self.http = app, http
        self.database: Database = app.state.database
        self._principal_tokens: dict[str, str] = {}

    def part(self, kind: type[T]) -> T:
        """The components of a subject, by their class."""
        parts: Parts = self.app.state[PARTS]
        return parts[kind]

    async def authenticate(self, **credential: str) -> httpx.Response:
        """Send a credential as the gateway does."""
        headers = GATEWAY.headers(ANONYMOUS, peer="gateway")
        return await self.http.post("/internal/authenticate", json=credential, headers=headers)

    async def get_as_peer(self, path: str) -> httpx.Response:
        return await self.http.get(path, headers=REPOS.headers(ANONYMOUS, peer="repos"))

    async def post_as_peer(self, path: str, body: object) -> httpx.Response:
        return await self.http.post(path, json=body, headers=REPOS.headers(ANONYMOUS, peer="repos"))

    async def put_ownership(self, owner_id: int, *, id_: int = 1, before: int = 0) -> httpx.Response:
        """Send the owner of a repository as repos does for a new repository or a new owner."""
        headers = REPOS.headers(ANONYMOUS, peer="repos")
        body = {"owner_id": owner_id, "name": "app", "private": False, "before": before}
        return await self.http.put(f"/internal/repositories/{id_}", json=body, headers=headers)

    async def call(
        self, method: str, path: str, body: object = None, *, as_: str = "", token: str = ""
    ) -> httpx.Response:
        """One request as the person of that name (by password), or with a token, or anonymous."""
        headers = await self.headers_of(as_, token)
        return await self.http.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def call_raw(self, method: str, path: str, body: str, *, as_: str) -> httpx.Response:
        """The same with a body that is not encoded."""
        headers = await self.headers_of(as_, "") | {"content-type": "application/json"}
        return await self.http.request(method, f"/api/v1{path}", content=body.encode(), headers=headers)

    async def headers_of(self, as_: str, token: str) -> dict[str, str]:
        credential = {"token": token} if token else {"name": as_, "password": PASSWORD}
        key = token or as_
        if key and key not in self._principal_tokens:
            self._principal_tokens[key] = (await self.authenticate(**credential)).json()["statement"]
        return {"ingot-principal": self._principal_tokens[key]} if key else {}

    async def principal_token(self, principal: Principal) -> str:
        """Return the token that identity itself would return for ``principal``."""
        return sign_principal(
            principal, await self.part(AuthenticationComponents).signing_keys.current(), audience=["identity"]
        )

    async def add_user(self, name: str) -> int:
        body = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        return int((await self.call("POST", "/admin/users", body, as_="root")).json()["id"])

    async def start_session(self, name: str) -> int:
        """The id of a new session of that person in a browser."""
        async with self.database.transaction() as tx:
            account = await accounts.get_by_login(tx, name)
            assert account is not None
            await browser_sessions.start(tx, account.id, stamp_of(account.password_hash))
            rows, _ = await session_store.list_page(tx, account.id, Page(1, 1))
        return rows[0].id

    async def emitted_types(self) -> list[str]:
        return await service.emitted_types(self.database)

    async def emitted(self, cls: type[_E]) -> list[_E]:
        return await service.emitted_events(self.database, cls)

    async def deliver(self, event: msgspec.Struct) -> None:
        """Apply an event of repos, twice."""
        assert await service.deliver_event(self.app.state.parts.consumers, event)

    def count_statements(self) -> AbstractContextManager[list[tuple[str, Any]]]:
        return service.count_statements(self.database)


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
    """The event of a new repository of that owner."""
    return RepositoryCreated(repository=repository(owner_id), sender=User(id=1, login="root"))
