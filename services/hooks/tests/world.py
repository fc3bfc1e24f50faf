"""The service under test: the real app and database, with fakes of identity and repos as its peers."""

from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any

import httpx
import msgspec
from sqlalchemy import Table, update

from ingot_chassis.db.database import Database
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.egress import Egress
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.own_servers import OwnServers
from ingot_chassis.security.principal import Membership, Principal, ServiceIdentity
from ingot_chassis.security.sealing import Seal
from ingot_contracts.identity.accounts import Account
from ingot_contracts.testing.identity import FakeIdentity
from ingot_contracts.testing.repos import FakeRepos
from ingot_hooks.app import create_app
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup, PermissionWakeup
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos
from ingot_hooks.deliveries.jobs.permissions import PermissionChecker
from ingot_hooks.deliveries.jobs.sending import DeliveryWorker
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.due import ClaimLimits, EndpointLimit, find_due
from ingot_hooks.deliveries.store.queries import DeliveryRow
from ingot_hooks.endpoints.clients.pool import Endpoints
from ingot_hooks.settings import Settings
from ingot_testing.service import Callers, deliver_event

from .builders import NEW, config, hook, repository

HOOKS = "/repos/ann/app/hooks"
MEMBER, OWNER = {50: Membership()}, {50: Membership(owner=True)}
"""``organizations`` of a principal: in acme."""


def per_endpoint(running: int, per_lane: int = 1, **limits: Any) -> ClaimLimits:
    """The same limit for every endpoint."""
    return ClaimLimits(lambda _endpoint: EndpointLimit(running, per_lane), **limits)


FOUR_PER_ENDPOINT = per_endpoint(4)


class World:
    """One running service. ann (1) owns the public repository ann/app (7) and the private ann/other (8).

    bob (2) is another user, acme (50) a public organization and secret (51) a private one. The workers run
    when a test calls their ``step``, or in the lifespan of the app if ``settings.background`` is true.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.callers = Callers("hooks")
        key = self.callers.identity_key.jwk()
        self.identity, self.repos = FakeIdentity(kid=key.kid, x=key.x), FakeRepos()
        self.former_names: dict[str, str] = {}
        """Former name of a repository to its present one; repos answers under both."""
        self._add_accounts_and_repositories()
        own = ServiceIdentity("hooks", SigningKey.read(settings.private_key))
        peers = Peers.in_process({"identity": self.identity, "repos": self._repos_with_former_names}, own)
        self.app = create_app(settings, peers=peers)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge")
        self.db: Database = self.app.state.database
        self.parts: Parts = self.app.state[PARTS]
        egress = Egress(settings.allowed_targets, "INGOT_HOOKS_ALLOWED_TARGETS")
        self.endpoints = Endpoints(egress, OwnServers([]), settings.delivery_seconds)
        self.permissions = self._new_permissions()
        self.worker = self.new_worker()

    def new_worker(self, **options: Any) -> DeliveryWorker:
        """A worker, as of one more process of the service."""
        return DeliveryWorker(
            self.db,
            self.settings,
            self.parts[Seal],
            self.parts[DeliveryWakeup],
            self.endpoints,
            self._new_permissions(),
            **options,
        )

    def _new_permissions(self) -> PermissionChecker:
        parts = self.parts
        return PermissionChecker(self.db, parts[HttpIdentity], parts[HttpRepos], parts[PermissionWakeup])

    async def close(self) -> None:
        await self.client.aclose()
        await self.endpoints.close()
        await self.db.close()

    def save_account(self, account: Account) -> None:
        """Let identity and repos know ``account``."""
        self.identity.accounts[account.id] = account
        for users, belongs in (
            (self.repos.administrators, account.admin),
            (self.repos.inactive, not account.active),
            (self.repos.organizations, account.kind == "organization"),
        ):
            (users.add if belongs else users.discard)(account.id)

    def remove_account(self, account_id: int) -> None:
        del self.identity.accounts[account_id]
        self.repos.inactive.add(account_id)

    async def call(
        self, method: str, path: str, body: Any = None, *, user: int = 1, **principal: Any
    ) -> httpx.Response:
        """Send a request as the user; 0 is anonymous. ``principal``: more fields of the principal."""
        caller = (
            Principal(id=user, name=f"user{user}", **{"via": "token", **principal}) if user else Principal()
        )
        headers = self.callers.headers(caller)
        return await self.client.request(method, f"/api/v1{path}", json=body, headers=headers)

    async def deliver(self, event: msgspec.Struct, *, event_id: str = "") -> None:
        """Apply an event of another service."""
        await deliver_event(self.app.state.parts.consumers, event, event_id=event_id)

    async def create_hook(
        self, url: str, *, secret: str = "", content_type: str = "json", **fields: Any
    ) -> int:
        """An active hook of ann/app; its id."""
        body = hook(config=config(url, secret=secret, content_type=content_type), **fields)
        response = await self.call("POST", HOOKS, body)
        assert response.status_code == 201, response.text
        return int(response.json()["id"])

    async def history(self, hook_id: int) -> list[Any]:
        """The deliveries of a hook of ann/app, newest first, as the API shows them."""
        return list((await self.call("GET", f"{HOOKS}/{hook_id}/deliveries")).json())

    def table(self, name: str) -> Table:
        return self.db.metadata.tables[name]

    async def rows(self, table: str) -> list[Any]:
        """All rows of ``hook`` by id, or of ``delivery`` by number."""
        columns = self.table(table).c
        async with self.db.read() as db:
            key = columns.id if table == "hook" else columns.number
            return list((await db.execute(self.table(table).select().order_by(key))).all())

    async def update_all(self, table: str, **values: Any) -> None:
        async with self.db.transaction() as tx:
            await tx.execute(update(self.table(table)).values(values))

    async def claim(
        self, limits: ClaimLimits = FOUR_PER_ENDPOINT, *, lease: timedelta = timedelta(hours=1)
    ) -> list[DeliveryRow]:
        """Claim as a worker does, one delivery of each lane."""
        async with self.db.transaction() as tx:
            due = await find_due(tx, 10, limits)
            return await claims.claim(tx, due.numbers, lease=lease)

    def _add_accounts_and_repositories(self) -> None:
        for account_id, login in ((1, "ann"), (2, "bob")):
            self.save_account(Account(id=account_id, kind="user", login=login))
        self.save_account(Account(id=50, kind="organization", login="acme"))
        self.save_account(Account(id=51, kind="organization", login="secret", visibility="private"))
        self.repos.add(repository())
        self.repos.add(repository(8, name="other", private=True))
        self.repos.branches[7, "main"] = self.repos.branches[8, "main"] = NEW

    async def _repos_with_former_names(
        self, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        before, by_name, rest = scope["path"].partition("/by-name/")
        name, _, operation = rest.rpartition("/")
        if name in self.former_names:
            path = f"{before}{by_name}{self.former_names[name]}/{operation}"
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self.repos(scope, receive, send)
