"""What a service is made of, and how its parts are put together, the same way for each."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from ingot_chassis.events.bus import Bus
from ingot_chassis.jobs.loops import Loop
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.peers.doctor import examine_peers
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import Jwks, SigningKey
from ingot_chassis.security.principal import FetchKeys, PrincipalVerifier, ServiceIdentity, ServiceVerifier
from ingot_chassis.settings import ServiceSettings, SettingsError
from ingot_wire.client import Origin

if TYPE_CHECKING:
    from sqlalchemy import MetaData

    from ingot_chassis.db.database import Database
    from ingot_chassis.events.consumers import Consumers, Subscriptions

Examination = Callable[[bool], Awaitable[list[str]]]
"""What is wrong with what a service holds, in lines for an operator; it is told whether to repair what it can."""
ReadinessCheck = Callable[[], Awaitable[str]]
"""Says in words why the service is not ready, or nothing."""


WARM_SECONDS = 0.5
WARM_CONNECTIONS = 1
"""For reads, and as many for transactions: all processes together shall stay far below what PostgreSQL allows."""


@dataclass
class ServiceParts:
    """What a service is made of.

    ``start`` runs before the first request and ``close`` after the last one. Beside the requests run
    ``listeners``, which keep what this process remembers fresh, and ``loops`` and ``tasks``, the background work
    that another process may do instead.
    """

    name: str
    settings: ServiceSettings
    principal_verifier: PrincipalVerifier
    service_verifier: ServiceVerifier
    bus: Bus
    database: "Database | None" = None
    owns_bus: bool = True
    peers: Peers = field(default_factory=Peers)
    start: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    listeners: list[tuple[str, Loop]] = field(default_factory=list)
    loops: list[tuple[str, Loop]] = field(default_factory=list)
    tasks: list[PeriodicTask] = field(default_factory=list)
    checks: list[ReadinessCheck] = field(default_factory=list)
    examinations: list[Examination] = field(default_factory=list)
    close: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    consumers: "Consumers | None" = None

    def subscribe(self, subscriptions: "Subscriptions") -> None:
        """Apply events of other services, as background work; for a service with a database."""
        from ingot_chassis.events.consumers import Consumers

        self.consumers = Consumers(self.name, self.require_database(), self.bus, subscriptions)
        self.loops += self.consumers.loops()
        self.tasks.append(
            PeriodicTask(f"{self.name}_forget_applied_events", CLEANUP, self.consumers.forget_old)
        )

    async def examine(self, *, repair: bool) -> list[str]:
        """What is wrong with what the service holds, in lines for an operator."""
        return [line for examination in self.examinations for line in await examination(repair)]

    async def warm_up(self) -> None:
        """Have what the first requests would wait for. What does not come soon, or not at all, they wait for themselves."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WARM_SECONDS):
                await asyncio.gather(
                    self.principal_verifier.fetch_keys(),
                    self.require_database().open_ahead(WARM_CONNECTIONS),
                    return_exceptions=True,
                )

    def background(self) -> list[tuple[str, Loop]]:
        """The background work: ``loops``, and one loop for each of ``tasks``."""
        return [*self.loops, *((task.name, task.run) for task in self.tasks)]

    def require_database(self) -> "Database":
        """The database of a service that has one."""
        if self.database is None:
            raise LookupError(f"{self.name} has no database")
        return self.database


def assemble(
    name: str,
    settings: ServiceSettings,
    *,
    metadata: "MetaData | None" = None,
    urls: Mapping[str, str] | None = None,
    peers: Peers | None = None,
    bus: Bus | None = None,
    subscriptions: "Subscriptions | None" = None,
    fetch_keys: FetchKeys | None = None,
) -> ServiceParts:
    """The parts of the service ``name``: database and relay if it has tables, peers at ``urls`` unless given.

    ``fetch_keys`` gets the keys of principals; by default the peer identity is asked. Raises SettingsError.
    """
    if not settings.private_key:
        raise SettingsError([f"INGOT_{name.upper()}_PRIVATE_KEY is not set; see docs/settings.md"])
    if metadata is not None and not settings.database_url:
        raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL is not set; see docs/settings.md"])
    own = ServiceIdentity(name, SigningKey.read(settings.private_key))
    peers = peers if peers is not None else Peers.over_http(origins(settings, urls or {}), own)
    all_peers = peers

    async def from_identity() -> Jwks:
        return await all_peers["identity"].get("/internal/jwks", Jwks)

    parts = ServiceParts(
        name=name,
        settings=settings,
        principal_verifier=PrincipalVerifier(name, fetch_keys or from_identity),
        service_verifier=ServiceVerifier(name, settings.public_keys),
        peers=peers,
        bus=bus or Bus(settings.nats_url, name=name, stream_replicas=settings.stream_replicas),
        owns_bus=bus is None,
    )
    if metadata is not None:
        _add_database(parts, metadata)
        parts.start.append(parts.warm_up)
        if subscriptions:
            parts.subscribe(subscriptions)
    else:
        parts.examinations.append(lambda _repair: examine_peers(name, all_peers))
    return parts


def _add_database(parts: ServiceParts, metadata: "MetaData") -> None:
    """The database of ``metadata``, and the background work that its tables need. Raises SettingsError."""
    # Imported here: a service without a database starts in less time and memory without all that.
    from sqlalchemy.exc import SQLAlchemyError

    from ingot_chassis.db import audit
    from ingot_chassis.db.database import Database
    from ingot_chassis.events.relay import Relay

    name, settings = parts.name, parts.settings
    try:
        database = parts.database = Database(settings.database_url, metadata, pool=settings.database_pool)
    except (SQLAlchemyError, ImportError, TypeError) as error:
        reason = str(error).split("\n", 1)[0]
        raise SettingsError([f"INGOT_{name.upper()}_DATABASE_URL cannot be used: {reason}"]) from error
    relay = Relay(name, database, parts.bus)
    parts.loops.append((f"{name} relay", relay.run))
    parts.tasks.append(PeriodicTask(f"{name}_forget_sent_events", CLEANUP, relay.forget_old))
    if audit.TABLE in metadata.tables:
        delete_old = partial(audit.delete_entries, database, older_than=timedelta(days=settings.audit_days))
        parts.tasks.append(PeriodicTask(f"{name}_delete_old_audit_entries", CLEANUP, delete_old))


def origins(settings: ServiceSettings, urls: Mapping[str, str]) -> dict[str, Origin]:
    """The servers at ``urls``, each with the patience of the settings."""
    return {
        name: Origin(url, patience=settings.connect_seconds, max_waiting=settings.waiting_requests)
        for name, url in urls.items()
    }
